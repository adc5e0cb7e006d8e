# SPDX-License-Identifier: Apache-2.0
"""A cluster with a history: what has happened to it, and how to repeat that."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from testbed.bed import KubectlError
from tests.e2e.backups import Place
from tests.e2e.clusters import Cluster, Json
from tests.e2e.traffic import Traffic

Moves = Iterator[str]
"""What a step does, one move after the other; others may move in between."""


@dataclass
class Life:
    """The cluster, its clients, and what has happened.

    Attributes:
        cluster: with the name ``mo``.
        traffic: its clients.
        place: where its data and its backups are.
        seed: which decides what happens.
        random: decides; only the thread of the test uses it.
        history: what has happened, each with its second.
        steps: how many there were; a part of names.
        is_alone: whether the present step is the only one, so that it has to succeed.
        scaled_away: log stores whose volumes may be others now.
        backups: names of BackupJobs that have completed, oldest first.
    """

    cluster: Cluster
    traffic: Traffic
    place: Place
    seed: int
    random: Random = field(init=False)
    history: list[str] = field(default_factory=list)
    steps: int = 0
    is_alone: bool = True
    scaled_away: set[str] = field(default_factory=set)
    backups: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)  # noqa: S311 - it has to be repeatable

    def note(self, text: str) -> None:
        """Record what has happened."""
        self.history.append(f"{self.traffic.seconds():7.1f} {text}")
        sys.stdout.write(f"life {self.seed}: {self.history[-1]}\n")
        sys.stdout.flush()

    def spec(self) -> Json:
        """Return the cluster's spec."""
        return dict(self.cluster.get("mo", "mo")["spec"])

    def set(self, changes: Mapping[str, Any]) -> None:
        """Set fields of the cluster's spec, or remove them with None, in one change."""
        spec = self.spec()
        operations = [
            {"op": "add", "path": f"/spec/{path}", "value": value}
            if value is not None
            else {"op": "remove", "path": f"/spec/{path}"}
            for path, value in changes.items()
            if value is not None or value_at(spec, path) is not None
        ]
        if operations:
            self.cluster.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(operations))

    def annotate(self, what: str, annotation: str) -> None:
        """Set an annotation of an object, or remove it (``key-``)."""
        self.cluster.kubectl("annotate", "--overwrite", *what.split("/"), annotation)

    def wait_for(self, holds: Callable[[], object], seconds: float) -> bool:
        """Wait for what an overlapping step may prevent; return whether it came true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if holds():
                    return True
            except KubectlError:
                pass
            time.sleep(1)
        return False

    def wait_sometimes(self, holds: Callable[[], object], seconds: float) -> bool:
        """Wait for it, or change one's mind before."""
        if self.random.random() < 0.5:
            return False
        return self.wait_for(holds, seconds)


def value_at(spec: Json, path: str) -> Any:
    """Return a field of a spec by its path, as ``cnGroups/0/config``; None if it is not there."""
    found: Any = spec
    for key in path.split("/"):
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = (found or {}).get(key)
    return found
