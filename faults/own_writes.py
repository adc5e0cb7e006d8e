# SPDX-License-Identifier: Apache-2.0
"""Writes of runs and of others to one object, seen by the proxy whose cache lags behind.

A version that another one has written is never taken for the run's own: its event would start no
run, and the change would go unnoticed. A version that the run has written is, or each run would
start another one.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import Owner, OwnWrite, ProxyLimits
from ansible_operator.serve.proxy.barrier import WriteBarrier
from ansible_operator.serve.proxy.dependent_kinds import DependentKinds
from ansible_operator.serve.proxy.discovery_answers import DiscoveryAnswers
from ansible_operator.serve.proxy.request_info import RequestInfo
from ansible_operator.serve.proxy.sessions import Grant
from ansible_operator.serve.proxy.write_observer import Confirmed, WriteObserver
from faults.points import Fault

Json = dict[str, Any]
_KIND = ResourceType(
    GroupVersionKind("", "v1", "ConfigMap"), "configmaps", True, frozenset({"get", "list", "watch"})
)
_OWNER = Owner(GroupVersionKind("example.com", "v1", "Site"), "site", "prod", "uid-site")
_INFO = RequestInfo(is_resource=True, path="", verb="patch", resource="configmaps", name="a")
_RUN, _OTHERS = "ansible", ("kubectl", "autoscaler")
_FIELDS, _STEPS = ("a", "b", "c"), 16


@dataclass
class _Stored:
    """An object on an API server, which notes for each manager when it last wrote which fields.

    Attributes:
        second: the present.
        content: values of fields.
        notes: the second and the fields of the last write, by manager.
        versions: the metadata of each version.
        writers: of each version.
    """

    second: int = 10
    content: dict[str, int] = field(default_factory=dict)
    notes: dict[str, tuple[int, frozenset[str]]] = field(default_factory=dict)
    versions: list[Json] = field(default_factory=list)
    writers: list[str] = field(default_factory=list)

    def apply(self, manager: str, fields: dict[str, int]) -> Json:
        """Apply fields by force, as server-side apply does; return the metadata in the answer."""
        known = self.notes.get(manager, (0, frozenset()))[1]
        same = all(self.content.get(name) == value for name, value in fields.items())
        if same and known == set(fields) and self.versions:
            return self.versions[-1]
        changed = {name for name, value in fields.items() if self.content.get(name) != value}
        self.content.update(fields)
        for other, (second, names) in list(self.notes.items()):
            if other != manager and names & changed:
                self.notes[other] = (second, names - changed)
        self.notes[manager] = (self.second, frozenset(fields))
        self.writers.append(manager)
        self.versions.append(self._metadata())
        return self.versions[-1]

    def _metadata(self) -> Json:
        notes = [
            {
                "manager": manager,
                "operation": "Apply",
                "apiVersion": "v1",
                "time": f"2026-12-01T12:{second // 60:02}:{second % 60:02}Z",
                "fieldsV1": {"f:data": {f"f:{name}": {} for name in sorted(names)}},
            }
            for manager, (second, names) in self.notes.items()
            if names
        ]
        version = str(len(self.versions) + 1)
        named = {"name": "a", "namespace": "prod", "uid": "uid-a", "resourceVersion": version}
        return {**named, "managedFields": notes}


class _Cache:
    """Stands for the informers: it knows a version that the server had, at some time."""

    def __init__(self, stored: _Stored) -> None:
        self._stored = stored
        self.known = 0

    def peek(self, _resource: ResourceType) -> _Cache:
        return self

    def get(self, _namespace: str, _name: str) -> Json | None:
        return {"metadata": self._stored.versions[self.known - 1]} if self.known else None


class _Nothing:
    """Stands for what only notes that something was written."""

    def note_write(self, *_given: object) -> None: ...

    async def recover(self, *_given: object) -> None: ...


def run(rng: random.Random) -> None:
    """Let a run and others write, in an order that is drawn.

    Raises:
        Fault: a version is taken for somebody else's than its writer's.
    """
    stored, reported = _Stored(), list[str]()
    cache = _Cache(stored)

    def seen(_owner: Owner, write: OwnWrite) -> None:
        reported.append(write.resource_version)

    observer = WriteObserver(
        cast("SharedInformers", cache),
        WriteBarrier(),
        cast("DependentKinds", _Nothing()),
        cast("DiscoveryAnswers", _Nothing()),
        seen,
    )
    grant = _run()
    for _ in range(_STEPS):
        # Times are in seconds: what one writes twice within one, its notes do not tell apart.
        stored.second += 1
        if rng.random() < 0.5:
            _write(stored, rng.choice(_OTHERS), rng)
        if rng.random() < 0.4:
            cache.known = rng.randint(cache.known, len(stored.versions))
        if rng.random() < 0.2:
            grant = _run()
        if rng.random() < 0.6:
            before = observer.metadata(grant, _KIND, "prod", "a")
            is_fresh, reported[:] = cache.known == len(stored.versions), []
            if rng.random() < 0.3:
                _write(stored, rng.choice(_OTHERS), rng)
                is_fresh = False
            count, answer = len(stored.versions), _write(stored, _RUN, rng)
            body = json.dumps({"kind": "ConfigMap", "metadata": answer}).encode()
            written = Confirmed(_INFO, _KIND, "prod", grant, before, _RUN)
            asyncio.run(observer.note(written, body))
            _require_own(stored, reported)
            if is_fresh and len(stored.versions) > count and not reported:
                raise Fault(f"version {count + 1} is the run's, and is taken for another's")


def _run() -> Grant:
    """Return what the proxy knows of a run that begins."""
    return Grant(_OWNER, ProxyLimits(), "run")


def _write(stored: _Stored, manager: str, rng: random.Random) -> Json:
    fields = rng.sample(_FIELDS, rng.randint(1, 2))
    return stored.apply(manager, {name: rng.randint(0, 2) for name in fields})


def _require_own(stored: _Stored, reported: list[str]) -> None:
    for version in reported:
        writer = stored.writers[int(version) - 1]
        if writer != _RUN:
            raise Fault(f"version {version} is of {writer}, and is taken for the run's own")
