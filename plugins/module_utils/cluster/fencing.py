# SPDX-License-Identifier: Apache-2.0
"""The fence around a cluster: clients are kept off, and nothing of it is changed or deleted.

The annotation ``matrixorigin.io/fenced`` asks for it while somebody looks into an incident. It is
passed on to the components, which are left alone as if they were paused: nothing is repaired,
replaced, scaled or deleted. The Services of clients then select no Pod, and sessions that exist are
ended, from the moment when no new ones can come. ``status.fence`` is the record of it. Without the
annotation, the Services are opened again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.annotations import is_fenced
from ..api.fields import as_table
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..reporting.events import Occurrence, occurrence
from ..workload.plans import Observed
from .canary import canary_in

Record = Mapping[str, Any]
"""``status.fence``: state, since, sessionsEnded, message."""

CLOSING: Final = "Closing"
CLOSED: Final = "Closed"
OPENING: Final = "Opening"
_SETTLED_SECONDS: Final = 15.0
"""New connections may reach a Pod for so long after its Service has stopped to select it."""
_SOON: Final = "3s"
_LATER: Final = "15s"
_PATIENCE_SECONDS: Final = 60.0
_SINGLE: Final = ("logSet", "dnSet", "proxySet", "webUI")
_SERVING: Final = (names.CN_SET, names.PROXY_SET)
"""Kinds of components whose Services clients of SQL use."""
_WAY_BACK: Final = f"until the annotation {names.ANNOTATION_FENCED} is removed"


@dataclass(frozen=True, slots=True)
class Fence:
    """What a pass does about the fence of a cluster.

    Attributes:
        wanted: whether there is to be one.
        services: those of clients.
        ends_sessions: whether sessions that exist are to be ended.
        marks: patches that pass the fence on to components, or take it away from them.
        at: the moment of the decision, RFC 3339.
    """

    wanted: bool = False
    services: Sequence[str] = ()
    ends_sessions: bool = False
    marks: Sequence[Manifest] = ()
    at: str = ""

    def as_variable(self) -> dict[str, Any]:
        """Return it as it travels with the plan; empty if there is nothing to do."""
        if not self.services and not self.wanted:
            return {}
        return {
            "wanted": self.wanted,
            "services": list(self.services),
            "endsSessions": self.ends_sessions,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class FenceResult:
    """What the action ``fence`` did.

    Attributes:
        ran: whether it was reached.
        ended: how many sessions it has ended.
        problem: what it could not do; empty if it could do all.
    """

    ran: bool = False
    ended: int = 0
    problem: str = ""

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> FenceResult:
        """Return it from a task's result: ``fence``; empty when it did not run."""
        return cls(bool(result), int(result.get("ended") or 0), str(result.get("problem") or ""))


def decide(resource: Resource, observed: Observed) -> Fence:
    """Decide what is to be done to keep clients off, or to let them come again.

    Args:
        resource: the cluster.
        observed: what its references led to, with the present as ``now``.
    """
    wanted, before = is_fenced(resource), recorded(resource)
    children = list(_children(observed))
    marks = [mark for child in children if (mark := _mark(resource, child, wanted=wanted))]
    if not wanted and not before and not marks:
        return Fence()
    services = [
        names.base_name(child["kind"], child["metadata"]["name"])
        for child in children
        if child["kind"] in _SERVING
    ]
    ends = wanted and before.get("state") != CLOSED
    return Fence(wanted, services, ends, marks, str(observed.get("now") or ""))


def _children(observed: Observed) -> Iterator[Resource]:
    """Yield the components that exist."""
    for label in _SINGLE:
        if (child := observed.get(label)) is not None:
            yield child
    yield from observed.get("cnSets") or []
    if (canary := canary_in(observed)) is not None:
        yield canary


def _mark(resource: Resource, child: Resource, *, wanted: bool) -> Manifest | None:
    """Return the patch by which a component is fenced with its cluster, or no longer.

    What a user has fenced stays so.
    """
    metadata, ours = child["metadata"], f"with {names.CLUSTER} {resource['metadata']['name']}"
    found = as_table(metadata.get("annotations")).get(names.ANNOTATION_FENCED)
    if (is_fenced(child) or not resource["metadata"].get("uid")) if wanted else found != ours:
        return None
    place = {"name": metadata["name"], "namespace": metadata["namespace"]}
    annotations = {names.ANNOTATION_FENCED: ours if wanted else None}
    return {
        "apiVersion": names.API_VERSION,
        "kind": child["kind"],
        "metadata": {**place, "annotations": annotations},
    }


def recorded(resource: Resource) -> Record:
    """Return ``status.fence``; empty without one."""
    return as_table(as_table(resource.get("status")).get("fence"))


def report(resource: Resource, planned: Mapping[str, Any], result: FenceResult) -> Record:
    """Return ``status.fence`` at the end of a pass.

    Args:
        resource: the cluster, with its status so far.
        planned: what was decided; see `Fence.as_variable`.
        result: what came of it.
    """
    before = recorded(resource)
    if not planned:
        return before if is_fenced(resource) else {}
    if not planned["wanted"]:
        unfinished = {**before, "state": OPENING, "message": result.problem}
        return {} if result.ran and not result.problem else _told(unfinished)
    now, since = planned["at"], before.get("since") or planned["at"]
    settled = bool(now) and unix_time(now) - unix_time(since) >= _SETTLED_SECONDS
    is_done = settled and result.ran and not result.problem
    return _told(
        {
            "state": CLOSED if is_done or before.get("state") == CLOSED else CLOSING,
            "since": since,
            "sessionsEnded": int(before.get("sessionsEnded") or 0) + result.ended,
            "message": result.problem,
        }
    )


def _told(record: Record) -> Record:
    return {name: value for name, value in record.items() if value != ""}


def requeue(record: Record, planned: Mapping[str, Any]) -> str:
    """Return when to look again; empty once nothing is left to do."""
    if record.get("state") in {None, CLOSED}:
        return ""
    now, since = planned.get("at"), record.get("since")
    is_new = bool(now and since) and unix_time(now) - unix_time(since) < _PATIENCE_SECONDS
    return _SOON if is_new else _LATER


def sentence(record: Record) -> str:
    """Return what the fence means, and what is not done yet."""
    if record.get("state") == OPENING:
        return f"the fence is being opened: {record.get('message') or 'Services are changed'}"
    what = f"fenced since {record.get('since')}: clients are kept off, and nothing is changed or "
    undone = f"; not done yet: {record['message']}" if record.get("message") else ""
    return f"{what}deleted {_WAY_BACK}{undone}"


def occurrences(before: Record, record: Record) -> list[Occurrence]:
    """Return the event of a fence that has been closed, or opened.

    Args:
        before: ``status.fence`` so far.
        record: as it is to be.
    """
    if record.get("state") == CLOSED != before.get("state"):
        note = f"clients are kept off; {record.get('sessionsEnded')} sessions were ended"
        return [occurrence("Fenced", note, action="Fence")]
    if before and not record:
        return [occurrence("Unfenced", "clients may connect again", action="Unfence")]
    return []
