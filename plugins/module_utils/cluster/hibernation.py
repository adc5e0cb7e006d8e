# SPDX-License-Identifier: Apache-2.0
"""The sleep of a cluster that nobody uses: it keeps its data and its settings, and runs no Pods.

``spec.hibernation`` asks for it, by hand or by a schedule, and ``status.hibernation`` is the record
of it. Compute nodes and proxies are stopped first; transaction node and log service follow where
the whole database is to sleep, each when those that depend on it have ended. On waking, the gates
of the sets bring them up in the order of their creation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from ..admission.shapes import Mistake
from ..api import names
from ..api.cron import Schedule, schedule_in, zone_in
from ..api.errors import InvalidSpec
from ..api.fields import Fields, as_table
from ..api.timestamps import timestamp, unix_time
from ..api.types import Manifest, Resource
from ..reporting.conditions import holds, holds_now
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import ConditionType
from ..upgrade.record import UNFINISHED
from ..workload.component import Reference
from ..workload.plans import Observed, named

Record = Mapping[str, Any]
"""``status.hibernation``: state, since, nextChange, message."""
Child = Mapping[str, Any]

PODS: Final = "clusterPods"
"""Label of the Pods of a cluster among what was observed."""
AWAKE: Final = "Awake"
FALLING_ASLEEP: Final = "FallingAsleep"
ASLEEP: Final = "Asleep"
WAKING: Final = "Waking"
_DATABASE: Final = "Database"
_COMPUTE: Final = frozenset({names.CN_SET, names.PROXY_SET, names.WEB_UI})
_ALL: Final = _COMPUTE | {names.DN_SET, names.LOG_SET}
_LONGEST: Final = timedelta(days=366)
_DIGITS: Final = 7
_SOON: Final = "3s"
"""When to look again while Pods end: of those that terminate, no component tells."""
_NEAR: Final = 11 * 60.0
"""Seconds; a little longer than ``reconcilePeriod``."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """When a cluster sleeps.

    Attributes:
        sleep: when it falls asleep.
        wake: when it wakes.
    """

    sleep: Schedule
    wake: Schedule

    def is_night(self, moment: datetime) -> bool:
        """Return whether it sleeps at a moment: it fell asleep since it woke the last time."""
        asleep = self.sleep.last_until(moment, since=moment - _LONGEST)
        awake = self.wake.last_until(moment, since=moment - _LONGEST)
        return asleep is not None and (awake is None or asleep > awake)

    def next_change(self, moment: datetime) -> datetime | None:
        """Return when it wakes, or falls asleep, next; None if it does not within nine years."""
        return (self.wake if self.is_night(moment) else self.sleep).next_after(moment)


@dataclass(frozen=True, slots=True)
class Hibernation:
    """What a pass does about the sleep of a cluster.

    Attributes:
        asleep: whether it is to sleep.
        stops: kinds of components of which no Pod is to run.
        is_complete: whether that are all that are to be stopped, and none of their Pods is left.
        next_change: when the schedule changes that, RFC 3339; empty if it does not.
        postponed: why it is awake although it is to sleep; empty if it is not.
        at: the moment of the decision, RFC 3339.
    """

    asleep: bool = False
    stops: frozenset[str] = frozenset()
    is_complete: bool = False
    next_change: str = ""
    postponed: str = ""
    at: str = ""

    def as_variable(self) -> dict[str, Any]:
        """Return it as it travels with the plan."""
        found = {"nextChange": self.next_change, "message": self.postponed, "at": self.at}
        said = {name: text for name, text in found.items() if text}
        return {"asleep": self.asleep, "complete": self.is_complete, **said}


def pod_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe of the Pods of a cluster that sleeps, or may do so; else nothing."""
    wanted = _spec(resource)
    may_sleep = wanted.get("asleep") is True or wanted.get("schedule")
    if not may_sleep:
        return {}
    metadata = resource["metadata"]
    labels = {names.LABEL_CLUSTER: metadata["name"]}
    namespace = metadata["namespace"]
    return {PODS: {"api_version": "v1", "kind": "Pod", "namespace": namespace, "labels": labels}}


def decide(resource: Resource, observed: Observed, upgrade: Mapping[str, Any]) -> Hibernation:
    """Decide whether a cluster sleeps, and what of it is stopped at once.

    Args:
        resource: the cluster.
        observed: what its references led to, with the present as ``now``.
        upgrade: ``status.upgrade`` as it is to be.

    Raises:
        InvalidSpec: the schedule cannot be read.
    """
    now = str(observed.get("now") or "")
    asked, next_change = _asked(Fields("", resource).table("spec").table("hibernation"), now)
    if not asked:
        return Hibernation(next_change=next_change, at=now)
    if upgrade.get("phase") in UNFINISHED:
        why = f"it sleeps when the upgrade to {upgrade.get('to')} has completed"
        return Hibernation(next_change=next_change, postponed=why, at=now)
    stops = frozenset(_stops(resource, observed))
    complete = _stopped_in_the_end(resource) <= stops and not stops & _running(observed)
    return Hibernation(True, stops, complete, next_change=next_change, at=now)


def put_to_sleep(
    resource: Resource, children: Iterable[Manifest], stops: frozenset[str]
) -> list[Manifest]:
    """Return the components of a cluster, of which those of some kinds have no Pods.

    One that somebody else scales is left to `resized`, but for a playbook's, which has no operator
    to remember its size.
    """
    operated = bool(resource["metadata"].get("uid"))
    return [
        {**one, "spec": {**one["spec"], "replicas": 0}}
        if one["kind"] in stops and ("replicas" in one["spec"] or not operated)
        else one
        for one in children
    ]


def resized(
    children: Iterable[Manifest], live: Mapping[str, Child], stops: frozenset[str]
) -> list[Manifest]:
    """Return the patches that put components to sleep, or wake them, that somebody else scales.

    Applied, the size would belong to the operator, and be the default as soon as that no longer
    applies it. A patch leaves it to whoever scales next.

    Args:
        children: the components, rendered.
        live: those that exist, by ``Kind/name``.
        stops: kinds of components of which no Pod is to run.
    """
    found = (
        _resized(live[named(one)], one["kind"] in stops)
        for one in children
        if "replicas" not in one["spec"] and named(one) in live
    )
    return [patch for patch in found if patch]


def _resized(live: Child, is_stopped: bool) -> Manifest:
    """Return the patch of one component; empty if it is as it should be."""
    metadata = live["metadata"]
    size = as_table(live.get("spec")).get("replicas")
    remembered = as_table(metadata.get("annotations")).get(names.ANNOTATION_AWAKE_REPLICAS)
    if is_stopped and size:
        annotation, spec = str(size), {"replicas": 0}
    elif not is_stopped and remembered is not None:
        annotation, spec = None, {} if size else {"replicas": _size(remembered)}
    else:
        return {}
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "annotations": {names.ANNOTATION_AWAKE_REPLICAS: annotation},
        },
        "spec": spec,
    }


def _size(remembered: object) -> int:
    """Return what was remembered; 1, as at the beginning, if somebody has spoiled it."""
    text = str(remembered)
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else 1


def is_near(resource: Resource, now: float) -> bool:
    """Return whether a change of the schedule is due, or a pass has to wait for it by the second.

    An operator that has restarted has forgotten when it was to look again, and looks again after
    ``reconcilePeriod`` of ``watches.yaml``.

    Args:
        resource: the cluster, with its status.
        now: the present, Unix time.
    """
    expected = str(recorded(resource).get("nextChange") or "")
    return bool(expected) and unix_time(expected) - now <= _NEAR


def requeue(record: Record) -> str:
    """Return when to look again whether its Pods have ended; empty where none is to end."""
    return _SOON if record.get("state") == FALLING_ASLEEP else ""


def recorded(resource: Resource) -> Record:
    """Return ``status.hibernation``; empty without one."""
    return as_table(as_table(resource.get("status")).get("hibernation"))


def sentence(planned: Mapping[str, Any]) -> str:
    """Return why a cluster that sleeps answers no SQL, and until when."""
    until = f", until {planned['nextChange']}" if planned.get("nextChange") else ""
    return f"it sleeps, as spec.hibernation asks{until}; no SQL is answered"


def report(
    resource: Resource, planned: Mapping[str, Any], conditions: Iterable[Mapping[str, Any]]
) -> Record:
    """Return ``status.hibernation`` at the end of a pass.

    Args:
        resource: the cluster, with its status so far.
        planned: what was decided; empty, or without a moment, where nothing is to be reported.
        conditions: as they are to be.
    """
    before = recorded(resource)
    if not planned.get("at"):
        return before
    state = _state(before, planned, conditions)
    if not _spec(resource) and state == AWAKE:
        return {}
    since = before.get("since") if before.get("state") == state else planned.get("at")
    found = {
        "state": state,
        "since": since,
        "nextChange": planned.get("nextChange"),
        "message": planned.get("message"),
    }
    return {name: value for name, value in found.items() if value}


def occurrences(before: Record, record: Record) -> list[Occurrence]:
    """Return the event of a cluster that has fallen asleep, or woken.

    Args:
        before: ``status.hibernation`` so far.
        record: as it is to be.
    """
    state, was = record.get("state") or AWAKE, before.get("state") or AWAKE
    if state == ASLEEP != was:
        return [occurrence("Hibernated", "its compute nodes are stopped", action="Hibernate")]
    if state == AWAKE and was == WAKING:
        return [occurrence("Woken", "it answers SQL again", action="Wake")]
    return []


def mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield what is wrong with the schedule beyond its schema."""
    try:
        _timetable(Fields("", resource).table("spec").table("hibernation"))
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)


def _spec(resource: Resource) -> Mapping[str, Any]:
    return as_table(as_table(resource.get("spec")).get("hibernation"))


def _asked(wanted: Fields, now: str) -> tuple[bool, str]:
    """Return whether a cluster is to sleep, and when its schedule changes that."""
    timetable = _timetable(wanted)
    if wanted.raw("asleep") is not None:
        return wanted.flag("asleep"), ""
    if timetable is None or not now:
        return False, ""
    moment = datetime.fromtimestamp(unix_time(now), timezone.utc)
    change = timetable.next_change(moment)
    return timetable.is_night(moment), timestamp(change.timestamp()) if change else ""


def _timetable(wanted: Fields) -> Timetable | None:
    if wanted.raw("schedule") is None:
        return None
    fields = wanted.table("schedule")
    zone = zone_in(fields)
    return Timetable(schedule_in(fields, "sleep", zone), schedule_in(fields, "wake", zone))


def _stops(resource: Resource, observed: Observed) -> Iterator[str]:
    """Yield the kinds of components that are stopped: none before those that depend on it."""
    yield from _COMPUTE
    if names.DN_SET not in _stopped_in_the_end(resource):
        return
    running = _running(observed)
    clients: Sequence[Child | None] = (*(observed.get("cnSets") or []), observed.get("proxySet"))
    if running & _COMPUTE or not all(_is_stopped(one) for one in clients if one is not None):
        return
    yield names.DN_SET
    if names.DN_SET not in running and _is_stopped(observed.get("dnSet")):
        yield names.LOG_SET


def _stopped_in_the_end(resource: Resource) -> frozenset[str]:
    """Return the kinds of components that are stopped in the end.

    A playbook begins with the log service, and nobody tells it when what depends on that has ended.
    """
    operated = bool(resource["metadata"].get("uid"))
    return _ALL if operated and _spec(resource).get("scope") == _DATABASE else _COMPUTE


def _running(observed: Observed) -> frozenset[str]:
    """Return the kinds of components that have Pods, also such that terminate; all if unknown."""
    pods = observed.get(PODS)
    if pods is None:
        return _ALL
    labels = (as_table(one["metadata"].get("labels")) for one in pods)
    return frozenset(str(found.get(names.LABEL_COMPONENT)) for found in labels)


def _is_stopped(child: Child | None) -> bool:
    """Return whether a component is known to be asked for no Pods, and to have counted none."""
    if child is None or as_table(child.get("spec")).get("replicas") != 0:
        return False
    counted = as_table(child.get("status")).get("pods")
    at_work = holds(child, ConditionType.PROGRESSING)
    return holds_now(child, ConditionType.SYNCED) and not at_work and counted == "0/0"


def _state(
    before: Record, planned: Mapping[str, Any], conditions: Iterable[Mapping[str, Any]]
) -> str:
    """Return where a cluster is between being awake and being asleep."""
    states = {one["type"]: one["status"] for one in conditions}
    if planned.get("asleep"):
        applied = states[ConditionType.SYNCED.value] == "True"
        at_work = states[ConditionType.PROGRESSING.value] == "True"
        # A change that waits until it wakes, such as an upgrade, does not wake it.
        arrived = before.get("state") == ASLEEP or (applied and not at_work)
        return ASLEEP if planned.get("complete") and arrived else FALLING_ASLEEP
    slept = before.get("state") in {FALLING_ASLEEP, ASLEEP, WAKING}
    return WAKING if slept and states[ConditionType.READY.value] != "True" else AWAKE
