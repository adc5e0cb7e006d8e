# SPDX-License-Identifier: Apache-2.0
"""Status of a MatrixOneCluster from its children (core.md §3.2, §10.3.6)."""

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
    find,
    holds,
    holds_now,
    paused,
    phase,
    summary,
)
from ..reporting.reasons import ConditionType, Reason

Child = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Everything that the status of a cluster is made from.

    Attributes:
        resource: the cluster with its present status.
        wanted: the rendered children.
        live: the children as they are in the cluster, by ``Kind/name``.
        credential: name of the Secret with the root credential; empty before there is one.
        paused: the resource is left alone.
        invalid: what is wrong with the spec; empty if nothing is.
        waiting: what the pass waits for; empty if nothing.
        failure: why the children could not be applied; empty if they could.
        metrics: what is known of the metric user; empty when none is asked for.
        login: why the database does not have the root credential of its Secret; empty if it has.
    """

    resource: Resource
    wanted: Sequence[Mapping[str, Any]]
    live: Mapping[str, Child]
    credential: str
    paused: bool
    invalid: str
    waiting: str
    failure: str
    metrics: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    login: str = ""

    @property
    def generation(self) -> int:
        """Generation of the cluster that this is about."""
        return int(self.resource["metadata"].get("generation") or 0)

    def children(self, kind: str) -> list[tuple[str, Child | None]]:
        """Return name and live object of the wanted children of a kind, in order."""
        wanted = [one["metadata"]["name"] for one in self.wanted if one["kind"] == kind]
        return [(name, self.live.get(f"{kind}/{name}")) for name in wanted]


_PAUSED_BEFORE = "not created: paused by an annotation"
_ALL_SERVE = "all components serve"

_READY_RULES = (
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
)
_READABLE = (
    ("log", names.LOG_SET),
    ("tn", names.DN_SET),
    ("cn", names.CN_SET),
    ("proxy", names.PROXY_SET),
    ("webui", names.WEB_UI),
)
_COPIED = (
    ("logService", names.LOG_SET),
    ("tn", names.DN_SET),
    ("proxy", names.PROXY_SET),
    ("webui", names.WEB_UI),
)


def cluster_status(facts: ClusterFacts) -> dict[str, Any]:
    """Return the status to write, complete but for the conditions' times."""
    conditions = _conditions(facts)
    status: dict[str, Any] = {
        "observedGeneration": facts.generation,
        "conditions": conditions,
        "phase": phase(conditions).value,
        "message": summary(conditions),
        "readable": _readable(facts),
        "cnGroups": _groups(facts),
    }
    version = _version(facts)
    if version:
        status["version"] = version
    if facts.credential:
        status["credentialRef"] = {"name": facts.credential}
    for field, kind in _COPIED:
        copied = [
            child["status"] for _name, child in facts.children(kind) if child and "status" in child
        ]
        if copied:
            status[field] = copied[0]
    if "tn" in status and "dn" in (facts.resource.get("spec") or {}):
        status["dn"] = status["tn"]
    if facts.metrics:
        status["clusterMetrics"] = dict(facts.metrics)
    status.update(_entrance(facts))
    return status


def _conditions(facts: ClusterFacts) -> list[Condition]:
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
            said = find(child, kind_of_condition).get("message") or "no news of it yet"
            return reason, f"waiting for {kind} {name}: {said}"
    return None


def _serves(child: Child | None) -> bool:
    return holds(child, ConditionType.READY)


def _may_serve(child: Child | None) -> bool:
    """Tell whether a child serves, or is not known not to: its change is just being applied."""
    return find(child, ConditionType.READY).get("status") in {"True", "Unknown"}


def _serves_now(child: Child | None) -> bool:
    """Tell whether a child serves, said for its present generation."""
    return holds_now(child, ConditionType.READY)


def _is_synced(child: Child | None) -> bool:
    return holds_now(child, ConditionType.SYNCED)


def _ready(facts: ClusterFacts) -> Condition:
    """Say whether all components serve; Unknown while one of them takes a change in."""
    nothing = facts.invalid or (_PAUSED_BEFORE if facts.paused else "")
    if nothing and not facts.live:
        return condition(ConditionType.READY, False, Reason.RECONCILING, nothing, facts.generation)
    lacking = _first_lacking(facts, _READY_RULES, _may_serve, ConditionType.READY)
    if lacking:
        return condition(ConditionType.READY, False, *lacking, facts.generation)
    changing = _first_lacking(facts, _READY_RULES, _serves_now, ConditionType.READY)
    if changing:
        message = changing[1]
        return condition(ConditionType.READY, None, Reason.RECONCILING, message, facts.generation)
    stopped = ", ".join(_stopped(facts))
    message = f"stopped with replicas 0: {stopped}; all others serve" if stopped else _ALL_SERVE
    return condition(ConditionType.READY, True, Reason.ALL_SETS_READY, message, facts.generation)


def _stopped(facts: ClusterFacts) -> Iterator[str]:
    """Name the children of which the spec wants no Pod: they are as asked for, but do not serve."""
    for kind, _reason in _READY_RULES:
        for name, child in facts.children(kind):
            if _count(child)[1] == 0:
                yield f"{kind} {name}"


def _synced(facts: ClusterFacts) -> Condition:
    lacking = _first_lacking(facts, _SYNCED_RULES, _is_synced, ConditionType.SYNCED)
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
    else:
        holds_, reason = True, Reason.ALL_SETS_SYNCED
        message = "all components run what the spec asks for"
    return condition(ConditionType.SYNCED, holds_, reason, message, facts.generation)


def _progressing(facts: ClusterFacts) -> Condition:
    """Say what is under way, in the words of the first child that is busy."""
    if facts.paused:
        return condition(ConditionType.PROGRESSING, False, Reason.PAUSED, "", facts.generation)
    if facts.invalid or facts.failure:
        message = facts.invalid or facts.failure
        return condition(
            ConditionType.PROGRESSING, False, Reason.SETTLED, message, facts.generation
        )
    if facts.waiting:
        return condition(
            ConditionType.PROGRESSING,
            True,
            Reason.WAITING_FOR_DEPENDENCY,
            facts.waiting,
            facts.generation,
        )
    for kind, _reason in _READY_RULES:
        for name, child in facts.children(kind):
            if _is_done(child) or _is_at_rest(child):
                continue
            said = (
                find(child, ConditionType.PROGRESSING).get("message") or "a change is being applied"
            )
            reason = _busy_reason(facts, child)
            message = f"{kind} {name}: {said}"
            return condition(ConditionType.PROGRESSING, True, reason, message, facts.generation)
    return condition(
        ConditionType.PROGRESSING, False, Reason.SETTLED, facts.login, facts.generation
    )


def _is_done(child: Child | None) -> bool:
    """Tell whether a child serves as asked, and nothing of before is left: compute nodes that are
    to go serve the clients that they have until these have moved.
    """
    at_work = holds(child, ConditionType.PROGRESSING)
    return _serves_now(child) and _is_synced(child) and not at_work


def _is_at_rest(child: Child | None) -> bool:
    """Tell whether a child does nothing although not all is as it should be: that is refused."""
    said = find(child, ConditionType.PROGRESSING)
    generation = ((child or {}).get("metadata") or {}).get("generation") or 0
    now = (said.get("observedGeneration") or 0) >= generation
    return now and said.get("status") == "False" and _may_serve(child)


def _busy_reason(facts: ClusterFacts, child: Child | None) -> Reason:
    """A cluster that never served is being created; later it does what its child does."""
    ever = find(facts.resource, ConditionType.PROGRESSING).get("reason")
    beginnings = {None, Reason.CREATING.value}
    if ever in beginnings and not holds(facts.resource, ConditionType.READY):
        return Reason.CREATING
    said = find(child, ConditionType.PROGRESSING)
    return Reason(said["reason"]) if said.get("status") == "True" else Reason.ROLLING_OUT


def _degraded(facts: ClusterFacts) -> Condition:
    for kind, _reason in _READY_RULES:
        for name, child in facts.children(kind):
            said = find(child, ConditionType.DEGRADED)
            if said.get("status") == "True":
                message = f"{kind} {name}: {said.get('message')}"
                reason = Reason(said["reason"])
                return condition(ConditionType.DEGRADED, True, reason, message, facts.generation)
    return condition(ConditionType.DEGRADED, False, Reason.AS_EXPECTED, "", facts.generation)


def _count(child: Child | None) -> tuple[int, int]:
    """Return ready and wanted Pods of a child."""
    text = str(((child or {}).get("status") or {}).get("pods") or "")
    ready, _slash, wanted = text.partition("/")
    if ready.isdigit() and wanted.isdigit():
        return int(ready), int(wanted)
    return 0, int(((child or {}).get("spec") or {}).get("replicas") or 0)


def _readable(facts: ClusterFacts) -> dict[str, str]:
    """Return ready and wanted Pods per component, as the printer columns show them."""
    shown = {}
    for field, kind in _READABLE:
        counts = [_count(child) for _name, child in facts.children(kind)]
        if counts:
            shown[field] = f"{sum(pair[0] for pair in counts)}/{sum(pair[1] for pair in counts)}"
    if "tn" in shown:
        shown["dn"] = shown["tn"]
    return shown


def _groups(facts: ClusterFacts) -> dict[str, Any]:
    """Return the state of the CN groups."""
    prefix = f"{facts.resource['metadata']['name']}-"
    groups = []
    for name, child in facts.children(names.CN_SET):
        status = (child or {}).get("status") or {}
        entry: dict[str, Any] = {
            "name": name,
            "group": name.removeprefix(prefix),
            "ready": _serves(child),
            "synced": _is_synced(child),
        }
        for field in ("host", "port", "replicas", "readyReplicas"):
            if status.get(field) is not None:
                entry[field] = status[field]
        groups.append(entry)
    return {
        "desiredGroups": len(groups),
        "readyGroups": sum(group["ready"] for group in groups),
        "syncedGroups": sum(group["synced"] for group in groups),
        "groups": groups,
    }


def _version(facts: ClusterFacts) -> str:
    """Return the version that runs: the one of the component that is still behind, if any."""
    wanted = str((facts.resource.get("spec") or {}).get("version") or "")
    seen = [
        str((child.get("status") or {}).get("version") or "")
        for kind, _reason in _READY_RULES
        for _name, child in facts.children(kind)
        if child
    ]
    known = [version for version in seen if version]
    behind = [version for version in known if version != wanted]
    return (behind or known or [""])[0]


def _entrance(facts: ClusterFacts) -> dict[str, Any]:
    """Return where SQL is answered: the proxy if there is one, else the first CN group."""
    for kind in (names.PROXY_SET, names.CN_SET):
        for _name, child in facts.children(kind):
            status = (child or {}).get("status") or {}
            if status.get("host"):
                return {"host": status["host"], "port": status.get("port")}
            if kind == names.PROXY_SET:
                return {}
    return {}
