# SPDX-License-Identifier: Apache-2.0
"""The conditions of a MatrixOneCluster, from those of its children."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api import names
from ..api.types import Resource
from ..reporting.conditions import (
    Condition,
    condition,
    earlier_spec_of,
    find,
    holds,
    holds_now,
    of_earlier_spec,
    paused,
    serves_now,
    unapplied,
)
from ..reporting.kstatus import needs_a_person
from ..reporting.reasons import ConditionType, Reason
from . import fencing, hibernation, maintenance, upgrade_status
from .database_results import ConnectionResult
from .restore_status import awaited

Child = Mapping[str, Any]


_PAUSED_BEFORE = "not created: paused by an annotation"
_ALL_SERVE = "all components serve"

READY_RULES = (
    (names.LOG_SET, Reason.LOG_SERVICE_NOT_READY),
    (names.DN_SET, Reason.DN_SET_NOT_READY),
    (names.CN_SET, Reason.SOME_CN_SETS_NOT_READY),
    (names.PROXY_SET, Reason.PROXY_SET_NOT_READY),
)
_SYNCED_RULES = (
    (names.LOG_SET, Reason.LOG_SERVICE_NOT_SYNCED),
    (names.DN_SET, Reason.DN_SET_NOT_SYNCED),
    (names.CN_SET, Reason.SOME_CN_SETS_NOT_SYNCED),
    (names.PROXY_SET, Reason.PROXY_NOT_SYNCED),
    (names.WEB_UI, Reason.WEB_UI_NOT_SYNCED),
)
"""The dashboard has no part in whether the database serves, but in whether all is as asked for."""
_KINDS = tuple(kind for kind, _reason in _SYNCED_RULES)


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Everything that the status of a cluster is computed from.

    Attributes:
        resource: the cluster with its present status.
        desired: the rendered children.
        live: the children as they are in the cluster, by ``Kind/name``.
        credential: name of the Secret with the root credential; empty before there is one.
        paused: the resource is left alone.
        invalid: what is wrong with the spec; empty if nothing is.
        waiting: what the pass waits for; empty if nothing.
        failure: why the children could not be applied; empty if they could.
        metrics: what is known of the metric user; empty when none is asked for.
        unanswered: what SQL lacks although all components serve; empty if nothing.
        login: why the database does not have the root credential of its Secret; empty if it has.
        connection: what became of the Secrets for applications.
        restore: ``status.restore``; empty without one.
        restoring: whether components wait for the restore.
        upgrade: ``status.upgrade``; empty without one.
        no_answer: why the database gave no answer during an upgrade; empty if it did.
        stuck: whether the upgrade of the catalog does not move.
        hibernation: what was decided about its sleep; see `hibernation.Hibernation.as_variable`.
        maintenance: what was decided about its windows.
        fence: ``status.fence``; empty without one.
        held: whether the components were left as they are, but for their sizes.
    """

    resource: Resource
    desired: Sequence[Mapping[str, Any]]
    live: Mapping[str, Child]
    credential: str
    paused: bool
    invalid: str
    waiting: str
    failure: str
    metrics: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unanswered: str = ""
    login: str = ""
    connection: ConnectionResult = dataclasses.field(default_factory=ConnectionResult)
    restore: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    restoring: bool = False
    upgrade: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    no_answer: str = ""
    stuck: bool = False
    hibernation: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    maintenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fence: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    held: bool = False

    @property
    def generation(self) -> int:
        """Generation of the cluster that this is about."""
        return int(self.resource["metadata"].get("generation") or 0)

    def children(self, kind: str) -> list[tuple[str, Child | None]]:
        """Return name and live object of the desired children of a kind, in order."""
        desired = [one["metadata"]["name"] for one in self.desired if one["kind"] == kind]
        return [(name, self.live.get(f"{kind}/{name}")) for name in desired]


def cluster_conditions(facts: ClusterFacts) -> list[Condition]:
    """Return the conditions, complete but for their times."""
    found = [_ready(facts), _synced(facts), _progressing(facts), _degraded(facts)]
    return found + paused(facts.resource, facts.paused, facts.generation)


def _first_lacking(
    facts: ClusterFacts,
    rules: Sequence[tuple[str, Reason]],
    fulfils: Callable[[Child | None], bool],
    kind_of_condition: ConditionType,
) -> tuple[Reason, str] | None:
    """Return reason and message for the first kind with a child that does not fulfil."""
    for kind, reason in rules:
        lacking = [(name, child) for name, child in facts.children(kind) if not fulfils(child)]
        if lacking:
            name, child = lacking[0]
            message = find(child, kind_of_condition).get("message") or "it has no status yet"
            return reason, f"waiting for {kind} {name}: {message}"
    return None


def _may_serve(child: Child | None) -> bool:
    """Return whether a child serves, or its change is just being applied."""
    return find(child, ConditionType.READY).get("status") in {"True", "Unknown"}


def is_synced(child: Child | None) -> bool:
    """Return whether a child runs what its present generation asks for."""
    return holds_now(child, ConditionType.SYNCED)


def _ready(facts: ClusterFacts) -> Condition:
    """Report whether all components serve; outdated where one still serves with an earlier spec."""
    nothing = _PAUSED_BEFORE if facts.paused else facts.invalid
    if nothing and not facts.live:
        reason = Reason.RECONCILING if facts.paused else Reason.INVALID_SPEC
        return condition(ConditionType.READY, False, reason, nothing, facts.generation)
    if facts.fence:
        message = fencing.sentence(facts.fence)
        return condition(ConditionType.READY, False, Reason.FENCED, message, facts.generation)
    invalid = "" if facts.paused else facts.invalid
    cause = unapplied(facts.resource, invalid=invalid, failure=facts.failure)
    cause, ready = cause or _held(facts) or _unapplied_by_child(facts), _served(facts)
    return of_earlier_spec(ready, facts.resource, cause) if cause else ready


def _held(facts: ClusterFacts) -> tuple[Reason, str] | None:
    """Return why a change of the spec is held back; None if none is."""
    return upgrade_status.held(facts.upgrade) or maintenance.held(facts.maintenance)


def _unapplied_by_child(facts: ClusterFacts) -> tuple[Reason, str] | None:
    """Return why the first child that serves with an earlier spec does so; None without one."""
    for kind, _reason in READY_RULES:
        for name, child in facts.children(kind):
            if cause := earlier_spec_of(child):
                return cause[0], f"{kind} {name}: {cause[1]}"
    return None


def _served(facts: ClusterFacts) -> Condition:
    """Report whether all components serve; Unknown while a change of one is being applied."""
    lacking = _restore(facts) or _first_lacking(facts, READY_RULES, _may_serve, ConditionType.READY)
    if lacking:
        return condition(ConditionType.READY, False, *lacking, facts.generation)
    if facts.no_answer:
        message = f"the database gives no answer: {facts.no_answer}"
        return condition(
            ConditionType.READY, False, Reason.SQL_NOT_ANSWERED, message, facts.generation
        )
    changing = _first_lacking(facts, READY_RULES, serves_now, ConditionType.READY)
    if changing:
        reason = _unknown_reason(facts)
        return condition(ConditionType.READY, None, reason, changing[1], facts.generation)
    if facts.unanswered:
        reason, message = Reason.SQL_NOT_ANSWERED, f"waiting for {facts.unanswered}"
        return condition(ConditionType.READY, False, reason, message, facts.generation)
    return condition(ConditionType.READY, *_running(facts), facts.generation)


def _running(facts: ClusterFacts) -> tuple[bool, Reason, str]:
    """Return whether SQL is answered where all components are as their specs ask for."""
    if facts.hibernation.get("asleep"):
        return False, Reason.HIBERNATED, hibernation.sentence(facts.hibernation)
    stopped = ", ".join(_stopped(facts))
    if _stops_sql(facts):
        return False, Reason.STOPPED, f"stopped with replicas 0: {stopped}; no SQL is answered"
    message = f"stopped with replicas 0: {stopped}; all others serve" if stopped else _ALL_SERVE
    return True, Reason.ALL_SETS_READY, message


def _unknown_reason(facts: ClusterFacts) -> Reason:
    """Return why it is unknown whether components serve: no answer, or a change is applied."""
    found = [
        find(child, ConditionType.READY).get("reason")
        for kind, _reason in READY_RULES
        for _name, child in facts.children(kind)
    ]
    unreachable = Reason.HAKEEPER_UNREACHABLE
    return unreachable if unreachable.value in found else Reason.RECONCILING


def _stopped(facts: ClusterFacts) -> Iterator[str]:
    """Name the children of which the spec asks for no Pod: up to date, but not serving."""
    for kind, _reason in READY_RULES:
        for name, child in facts.children(kind):
            if count(child)[1] == 0:
                yield f"{kind} {name}"


def _stops_sql(facts: ClusterFacts) -> bool:
    """Return whether so much is stopped that SQL cannot be answered: all sets of one kind.

    Without proxies, compute nodes are reached at their own Services.
    """
    needed = (names.LOG_SET, names.DN_SET, names.CN_SET)
    sizes = [[count(child)[1] for _name, child in facts.children(kind)] for kind in needed]
    return any(of_kind and not any(of_kind) for of_kind in sizes)


def _restore(facts: ClusterFacts) -> tuple[Reason, str] | None:
    """Return reason and message while components wait for the restore."""
    if not facts.restoring:
        return None
    return awaited(facts.resource["metadata"]["name"], facts.restore)


def _synced(facts: ClusterFacts) -> Condition:
    lacking = (
        _restore(facts)
        or _stalled_child(facts, ConditionType.SYNCED, "False")
        or _held(facts)
        or _first_lacking(facts, _SYNCED_RULES, is_synced, ConditionType.SYNCED)
        or upgrade_status.awaited(facts.upgrade)
    )
    if facts.paused:
        holds_, reason, message = False, Reason.PAUSED, "changes are not applied while paused"
    elif facts.invalid:
        holds_, reason, message = False, Reason.INVALID_SPEC, facts.invalid
    elif facts.failure:
        holds_, reason, message = False, Reason.APPLY_FAILED, facts.failure
    elif lacking:
        holds_, (reason, message) = False, lacking
    elif facts.login:
        holds_, reason, message = False, Reason.CREDENTIAL_NOT_APPLIED, facts.login
    elif facts.connection.problem:
        reason, message = Reason.CONNECTION_SECRET_NOT_APPLIED, facts.connection.problem
        holds_ = False
    else:
        holds_, reason = True, Reason.ALL_SETS_SYNCED
        message = "all components run what the spec asks for"
    return condition(ConditionType.SYNCED, holds_, reason, message, facts.generation)


def _stalled_child(
    facts: ClusterFacts, kind_of_condition: ConditionType, bad: str
) -> tuple[Reason, str] | None:
    """Return reason and message of the first child that cannot get any further by itself.

    Args:
        facts: what is known.
        kind_of_condition: which of its conditions says so.
        bad: the status of that condition which does.
    """
    for kind in _KINDS:
        for name, child in facts.children(kind):
            found = find(child, kind_of_condition)
            generation = ((child or {}).get("metadata") or {}).get("generation") or 0
            is_present = (found.get("observedGeneration") or 0) >= generation
            if is_present and found.get("status") == bad and needs_a_person(found.get("reason")):
                return Reason(found["reason"]), f"{kind} {name}: {found.get('message')}"
    return None


def _progressing(facts: ClusterFacts) -> Condition:
    """Report what is under way, with the message of the first child that is busy."""
    if facts.paused:
        return condition(ConditionType.PROGRESSING, False, Reason.PAUSED, "", facts.generation)
    if facts.invalid or facts.failure:
        message = facts.invalid or facts.failure
        return condition(
            ConditionType.PROGRESSING, False, Reason.SETTLED, message, facts.generation
        )
    awaits = _awaited(facts)
    if awaits:
        state, reason, message = awaits
        return condition(ConditionType.PROGRESSING, state, reason, message, facts.generation)
    for kind in _KINDS:
        for name, child in facts.children(kind):
            if _is_done(child) or _is_at_rest(child):
                continue
            reported = (
                find(child, ConditionType.PROGRESSING).get("message") or "a change is being applied"
            )
            reason = _busy_reason(facts, child)
            message = f"{kind} {name}: {reported}"
            return condition(ConditionType.PROGRESSING, True, reason, message, facts.generation)
    if catalog := upgrade_status.awaited(facts.upgrade):
        return condition(ConditionType.PROGRESSING, True, *catalog, facts.generation)
    return condition(
        ConditionType.PROGRESSING, False, Reason.SETTLED, facts.login, facts.generation
    )


def _awaited(facts: ClusterFacts) -> tuple[bool, Reason, str] | None:
    """Return what all components wait for, as the condition Progressing says it."""
    restore = _restore(facts)
    if restore:
        reason, message = restore
        failed = reason == Reason.RESTORE_FAILED
        return not failed, Reason.SETTLED if failed else reason, message
    if held := _held(facts):
        return False, Reason.SETTLED, held[1]
    return (True, Reason.WAITING_FOR_DEPENDENCY, facts.waiting) if facts.waiting else None


def _is_done(child: Child | None) -> bool:
    """Return whether a child serves as its spec asks for and nothing older is left.

    Compute nodes that are leaving serve the clients that they have until these have moved.
    """
    at_work = holds(child, ConditionType.PROGRESSING)
    return serves_now(child) and is_synced(child) and not at_work


def _is_at_rest(child: Child | None) -> bool:
    """Return whether a child does nothing although it is not as its spec says.

    The rest of the spec was refused, or something is broken that no step of the operator repairs.
    """
    found = find(child, ConditionType.PROGRESSING)
    generation = ((child or {}).get("metadata") or {}).get("generation") or 0
    now = (found.get("observedGeneration") or 0) >= generation
    broken = holds(child, ConditionType.DEGRADED)
    return now and found.get("status") == "False" and (broken or _may_serve(child))


def _busy_reason(facts: ClusterFacts, child: Child | None) -> Reason:
    """Return what a cluster does: it is created until it has served, then it does as its child."""
    ever = find(facts.resource, ConditionType.PROGRESSING).get("reason")
    beginnings = {None, Reason.CREATING.value}
    if ever in beginnings and not holds(facts.resource, ConditionType.READY):
        return Reason.CREATING
    found = find(child, ConditionType.PROGRESSING)
    return Reason(found["reason"]) if found.get("status") == "True" else Reason.ROLLING_OUT


def _degraded(facts: ClusterFacts) -> Condition:
    """Report what is broken: first of all what only a person can mend."""
    broken = (
        _stalled_child(facts, ConditionType.DEGRADED, "True")
        or _broken_child(facts)
        or upgrade_status.stuck(facts.upgrade, facts.stuck)
    )
    if broken is None:
        return condition(ConditionType.DEGRADED, False, Reason.AS_EXPECTED, "", facts.generation)
    return condition(ConditionType.DEGRADED, True, *broken, facts.generation)


def _broken_child(facts: ClusterFacts) -> tuple[Reason, str] | None:
    for kind in _KINDS:
        for name, child in facts.children(kind):
            found = find(child, ConditionType.DEGRADED)
            if found.get("status") == "True":
                return Reason(found["reason"]), f"{kind} {name}: {found.get('message')}"
    return None


def count(child: Child | None) -> tuple[int, int]:
    """Return ready and desired Pods of a child."""
    text = str(((child or {}).get("status") or {}).get("pods") or "")
    ready, _slash, desired = text.partition("/")
    if ready.isdigit() and desired.isdigit():
        return int(ready), int(desired)
    return 0, int(((child or {}).get("spec") or {}).get("replicas") or 0)
