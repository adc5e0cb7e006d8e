# SPDX-License-Identifier: Apache-2.0
"""What a compute node is busy with, and how that is recorded on its Pod."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """What a compute node is busy with; None is what could not be found out.

    Attributes:
        sessions: sessions of users.
        pipelines: work for queries of other compute nodes.
        replicas: table shards that are placed there.
    """

    sessions: int | None = None
    pipelines: int | None = None
    replicas: int | None = None

    @property
    def idle(self) -> bool:
        """Whether it is known that there is nothing left."""
        return (self.sessions, self.pipelines, self.replicas) == (0, 0, 0)

    def text(self) -> str:
        """Return what is left, or what is not known."""
        counts = (
            (self.sessions, "sessions"),
            (self.pipelines, "pipelines"),
            (self.replicas, "replicas"),
        )
        unknown = [noun for count, noun in counts if count is None]
        if unknown:
            return f"unknown {' and '.join(unknown)}"
        return ", ".join(f"{count} {noun}" for count, noun in counts if count)


def score(load: Load, process: str) -> str:
    """Return the text of the annotation ``matrixorigin.io/score``.

    Other controllers read it; a count that is not known is left out, where they used to write 0.
    """
    counts = {
        "sessionCount": load.sessions,
        "pipelineCount": load.pipelines,
        "replicaCount": load.replicas,
        "startedTime": process or None,
    }
    known = {name: value for name, value in counts.items() if value is not None}
    return json.dumps(known, separators=(",", ":"))


def load_of_score(text: str) -> Load:
    """Read that annotation; a bare number is a count of sessions.

    Raises:
        ValueError: it is neither.
    """
    data = json.loads(text or "0")
    if data is None:
        raise ValueError(f"{text!r} is no score")
    if not isinstance(data, dict):
        data = {"sessionCount": data, "pipelineCount": 0, "replicaCount": 0}
    names = ("sessionCount", "pipelineCount", "replicaCount")
    counts = [data.get(name) for name in names]
    if any(isinstance(count, bool) or not isinstance(count, int | None) for count in counts):
        raise ValueError(f"{text!r} is no score")
    return Load(*counts)


def user_sessions(sessions: Iterable[tuple[str, bool]]) -> int:
    """Count the sessions that a drain waits for.

    Those that came through the proxy, which moves them, and those of tenants, which a release that
    does not say where sessions come from lists as well. What is left are the database's own and
    administrators' direct ones, which would never end.

    Args:
        sessions: account, and whether it came through the proxy.
    """
    return sum(proxied or account not in {"", "sys"} for account, proxied in sessions)
