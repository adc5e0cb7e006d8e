# SPDX-License-Identifier: Apache-2.0
"""Carry out the writes of a plan: many at the same time, each on a condition.

A write whose condition no longer holds is dropped, and the next plan starts from what is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from ..api.timestamps import timestamp_now
from ..clients.kubernetes.editing import FIELD_MANAGER
from ..clients.kubernetes.errors import Conflict, KubeError, NotFound
from ..clients.kubernetes.session import APPLY_PATCH, MERGE_PATCH
from ..compute.pods import gate_opened
from ..reporting.conditions import completed
from . import writes
from .creating import pod_manifest
from .measures import Measures, measured
from .objects import CLAIM, GENERATION, POD, Objects
from .stores import Stores

Json = dict[str, Any]
_AT_ONCE: Final = 8


@dataclass(slots=True)
class WriteResults:
    """What became of writes.

    Attributes:
        done: those that were carried out, by the name of their type.
        dropped: how many found another object than the plan knew.
        problems: why others failed.
        notes: what of it users want to know: word for an Event, and what happened to which Pod.
        measures: how well claims were served.
    """

    done: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    measures: Measures = field(default_factory=Measures)

    def add(self, other: WriteResults) -> None:
        """Count what was written in another round, too."""
        for name, count in other.done.items():
            self.done[name] = self.done.get(name, 0) + count
        self.dropped += other.dropped
        self.problems += other.problems
        self.notes += other.notes
        self.measures.add(other.measures)


class Executor:
    """Carries out writes, and keeps what is known up to date by the answers.

    Args:
        objects: what is known of the namespace.
        stores: of the pool; None for a claim set, which has none.
        owner: the resource whose pass it is; it owns what is created.

    Attributes:
        missing: generation whose Pods could not be created, because it is not rendered yet.
    """

    def __init__(self, objects: Objects, stores: Stores | None, owner: Mapping[str, Any]) -> None:
        self._objects = objects
        self._session = objects.session
        self._stores = stores
        self._owner = owner
        self._templates: dict[str, Json | None] = {}
        self.missing = ""

    def run(self, planned: Sequence[writes.Write]) -> WriteResults:
        """Carry out the writes of one plan."""
        written = WriteResults()
        requests = [write for write in planned if not isinstance(write, writes.StoreWrite)]
        calls = [call for request in requests for call in self._calls(request)]
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pool") as pool:
            answers = pool.map(_attempted, calls)
            # HAKeeper has one connection, which is used while the API server works.
            for write in planned:
                if isinstance(write, writes.StoreWrite):
                    self._set(write, written)
            for call, (problem, kept) in zip(calls, answers, strict=True):
                if problem is None:
                    name = type(call.write).__name__
                    written.done[name] = written.done.get(name, 0) + 1
                    written.notes += _notes(call.write)
                    self._measure(call.write, written)
                    kept()
                elif isinstance(problem, Conflict | NotFound):
                    written.dropped += 1
                else:
                    written.problems.append(str(problem))
        return written

    def _set(self, write: writes.StoreWrite, written: WriteResults) -> None:
        if self._objects.age_of_pod(write.pod) > writes.SECONDS_OF_STORE_WRITES:
            written.dropped += 1
        elif self._stores is not None and self._stores.write(write):
            written.done["StoreWrite"] = written.done.get("StoreWrite", 0) + 1

    def _calls(self, write: writes.Write) -> list[_Call]:
        if isinstance(write, writes.PodCreate):
            return self._creations(write)
        return [_Call(write, lambda: self._sent(write))]

    def _measure(self, write: writes.Write, written: WriteResults) -> None:
        """Count what a status of a claim says, before the answer replaces the former one."""
        if not isinstance(write, writes.ClaimStatus):
            return
        claim = self._objects.claims.get(write.name)
        if claim is not None:
            written.measures.add(measured(claim, write.status, time.time()))

    def _sent(self, write: writes.Write) -> Callable[[], None]:
        """Send one request; return what keeps its answer."""
        handlers: dict[type, Callable[[Any], Callable[[], None]]] = {
            writes.PodWrite: self._change_pod,
            writes.OpenGate: self._open_gate,
            writes.PodDelete: self._delete_pod,
            writes.ClaimWrite: self._change_claim,
            writes.ClaimStatus: self._write_status,
            writes.ClaimCreate: self._create_claim,
            writes.ClaimDelete: self._delete_claim,
            writes.GenerationDelete: self._delete_generation,
        }
        return handlers[type(write)](write)

    def _change_pod(self, write: writes.PodWrite) -> Callable[[], None]:
        metadata: Json = {"uid": write.uid, "resourceVersion": write.version}
        if write.labels:
            metadata["labels"] = dict(write.labels)
        if write.annotations:
            metadata["annotations"] = dict(write.annotations)
        return self._patched(POD, write.name, {"metadata": metadata})

    def _change_claim(self, write: writes.ClaimWrite) -> Callable[[], None]:
        metadata: Json = {"uid": write.uid, "resourceVersion": write.version}
        if write.labels:
            metadata["labels"] = dict(write.labels)
        if write.owner_references is not None:
            metadata["ownerReferences"] = [dict(owner) for owner in write.owner_references]
        body: Json = {"metadata": metadata}
        if write.spec:
            body["spec"] = dict(write.spec)
        return self._patched(CLAIM, write.name, body)

    def _patched(self, kind: tuple[str, str], name: str, body: Json) -> Callable[[], None]:
        answer = self._session.request(
            "PATCH",
            f"{self._objects.path(kind)}/{name}",
            attempt=f"change {kind[1]} {name}",
            query={"fieldManager": FIELD_MANAGER},
            body=body,
            content_type=MERGE_PATCH,
        )
        return lambda: self._objects.take(_typed(kind, answer))

    def _open_gate(self, write: writes.OpenGate) -> Callable[[], None]:
        body = {"status": {"conditions": [gate_opened(timestamp_now())]}}
        return self._status_of(POD, write.name, write.uid, body)

    def _write_status(self, write: writes.ClaimStatus) -> Callable[[], None]:
        before = (self._objects.claims.get(write.name) or {}).get("status") or {}
        status = completed(write.status, before, timestamp_now())
        if status == before:
            return lambda: None
        return self._status_of(CLAIM, write.name, write.uid, {"status": status})

    def _status_of(
        self, kind: tuple[str, str], name: str, uid: str, body: Json
    ) -> Callable[[], None]:
        place = {"name": name, "namespace": self._objects.namespace, "uid": uid}
        answer = self._session.request(
            "PATCH",
            f"{self._objects.path(kind)}/{name}/status",
            attempt=f"write the status of {kind[1]} {name}",
            query={"fieldManager": f"{FIELD_MANAGER}-status", "force": "true"},
            body={"apiVersion": kind[0], "kind": kind[1], "metadata": place, **body},
            content_type=APPLY_PATCH,
        )
        return lambda: self._objects.take(_typed(kind, answer))

    def _delete_pod(self, write: writes.PodDelete) -> Callable[[], None]:
        return self._deleted(POD, write.name, {"uid": write.uid, "resourceVersion": write.version})

    def _delete_claim(self, write: writes.ClaimDelete) -> Callable[[], None]:
        conditions = {"uid": write.uid, "resourceVersion": write.version}
        return self._deleted(CLAIM, write.name, conditions)

    def _delete_generation(self, write: writes.GenerationDelete) -> Callable[[], None]:
        known = self._objects.generations.get(write.name)
        if known is None or known["metadata"].get("deletionTimestamp"):
            return lambda: None
        self._refuse_while_used(write.name)
        return self._deleted(GENERATION, write.name, {"uid": known["metadata"]["uid"]})

    def _refuse_while_used(self, generation: str) -> None:
        """Look for Pods of a generation again: a pass of a former leader may have created one.

        Raises:
            Conflict: there is one.
        """
        if self._objects.has_pod_of(generation):
            raise Conflict(f"CNSet {generation} has a Pod", 409, "Conflict", [])

    def _deleted(
        self, kind: tuple[str, str], name: str, preconditions: Mapping[str, str]
    ) -> Callable[[], None]:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        answer = self._session.request(
            "DELETE",
            f"{self._objects.path(kind)}/{name}",
            attempt=f"delete {kind[1]} {name}",
            body={**options, "preconditions": dict(preconditions)},
        )
        if answer.get("kind") == kind[1]:
            # It ends by and by; what it is now has a deletionTimestamp.
            return lambda: self._objects.take(_typed(kind, answer))
        return lambda: self._objects.drop(kind[1], name)

    def _create_claim(self, write: writes.ClaimCreate) -> Callable[[], None]:
        answer = self._session.request(
            "POST",
            self._objects.path(CLAIM),
            attempt=f"create CNClaim {write.name}",
            query={"fieldManager": FIELD_MANAGER},
            body=dict(write.manifest),
        )
        return lambda: self._objects.take(_typed(CLAIM, answer))

    def _creations(self, write: writes.PodCreate) -> list[_Call]:
        manifest = self._manifest(write.generation)
        if manifest is None:
            self.missing = write.generation
            return []
        return [_Call(write, lambda: self._create_pod(manifest))] * write.count

    def _manifest(self, generation: str) -> Json | None:
        """Return what a Pod of a generation is created from; None as long as that is not there."""
        if generation not in self._templates:
            self._templates[generation] = pod_manifest(self._session, self._owner, generation)
        return self._templates[generation]

    def _create_pod(self, manifest: Json) -> Callable[[], None]:
        answer = self._session.request(
            "POST",
            self._objects.path(POD),
            attempt=f"create Pod {manifest['metadata']['generateName']}",
            query={"fieldManager": FIELD_MANAGER},
            body=manifest,
        )
        return lambda: self._objects.take(_typed(POD, answer))


@dataclass(frozen=True, slots=True)
class _Call:
    """One request."""

    write: writes.Write
    send: Callable[[], Callable[[], None]]


def _notes(write: writes.Write) -> list[tuple[str, str]]:
    if isinstance(write, writes.PodWrite) and write.reason:
        return [(write.reason, f"Pod {write.name}: {write.why}")]
    return []


def _attempted(call: _Call) -> tuple[KubeError | None, Callable[[], None]]:
    try:
        return None, call.send()
    except KubeError as error:
        return error, lambda: None


def _typed(kind: tuple[str, str], found: Mapping[str, Any]) -> Json:
    return {"apiVersion": kind[0], "kind": kind[1], **found}
