# SPDX-License-Identifier: Apache-2.0
"""What a pass has to say at its end: status, events, when to look again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypedDict

from ..api import names
from ..api.errors import RenderingError
from ..api.types import Manifest, Resource
from ..cluster import metric_user_status as metrics
from ..cluster import root_credential_events as logins
from ..cluster.rendering import render_matrixonecluster
from ..cluster.status import ClusterFacts, cluster_status
from ..compute import status as rounds
from ..compute.pods import told_states
from ..compute.stores import node_entries
from ..logservice import status as log_states
from ..reporting import pods as pod_status
from ..reporting import rolls
from ..reporting import sets as set_states
from ..reporting.conditions import condition, holds
from ..reporting.events import Occurrence, from_changes, occurrence
from ..reporting.reasons import ConditionType, Reason
from . import nodes
from .plans import Observed, Plan, named
from .references import WORKLOAD_KINDS
from .volumes import awaited as awaited_volumes

_LOOK_AGAIN = {names.CLUSTER: "15s", names.LOG_SET: "15s"}
_LOOK_AGAIN_ELSE = "10s"
"""While a resource is not settled; changes of what it watches come sooner (core.md §12)."""
_LOOK_AGAIN_ENDING = "5s"
"""Nobody tells the set of a Deployment that a Pod is gone, and its version counts until then."""
_LOOK_AGAIN_UNSERVED = "2s"
"""A transaction node gets its shard within seconds, and compute nodes wait for that."""
_LOOK_AGAIN_MOVING = "5s"
"""While Pods have changed a moment ago, or what is seen of them and of their workload differs."""
_LOOK_AGAIN_ALONE = "60s"
"""While Pods of a set that is left alone (paused, a spec that is refused) do not serve."""
_LOOK_AGAIN_REFUSED = "60s"
"""Somebody may let a StorageClass grow its volumes, or mend a credential, and nobody tells."""


_NAMED = 4
"""How many of the objects that hold a deletion up are named."""


class Report(TypedDict):
    """The end of a pass.

    Keys:
        status: to write; the writer adds the conditions' times.
        events: to emit beside those that the conditions' transitions deserve.
        ready: it serves, and what was asked for is applied everywhere.
        message: what is awaited, if anything.
        requeue: when to look again, e.g. ``15s``; empty if nothing is awaited.
    """

    status: dict[str, Any]
    events: list[Occurrence]
    ready: bool
    message: str
    requeue: str


Applied = Mapping[str, Any]
"""Result of ``apply``: ``objects`` and ``before`` by ``Kind/name``."""


def report_on(
    resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str, now: str
) -> Report:
    """Say what a pass came to.

    Args:
        resource: what the pass was about, with its status so far.
        plan: what was decided.
        observed: what was seen before.
        applied: what apply returned; empty if it was not reached.
        failure: why the pass failed; empty if it did not.
        now: the present, RFC 3339.
    """
    if resource["kind"] == names.CLUSTER:
        status = cluster_status(_cluster_facts(resource, plan, observed, applied, failure))
        events = _credential_events(plan, observed, failure)
        events += logins.occurrences(_told(observed, "round"))
        events += metrics.occurrences(_told(observed, "round"), resource)
    else:
        rollout = _rollout(resource, plan, observed, applied)
        status = _set_status(resource, plan, observed, rollout, failure, now)
        events = from_changes(
            applied.get("before") or {}, applied.get("objects") or {}, [plan["workload"]]
        )
        events += rolls.occurrences(_told(observed, "roll"))
    told = {entry["type"]: entry["status"] for entry in status["conditions"]}
    ready = told[ConditionType.READY.value] == told[ConditionType.SYNCED.value] == "True"
    held = plan["waitingFor"] == set_states.UPDATE_PAUSED or set_states.is_held({"status": status})
    idle = ready or plan["paused"] or bool(plan["invalid"]) or held
    requeue = "" if idle else _LOOK_AGAIN.get(resource["kind"], _LOOK_AGAIN_ELSE)
    if requeue and (plan["refused"] or logins.problem(_told(observed, "round"))):
        requeue = _LOOK_AGAIN_REFUSED
    if resource["kind"] == names.CLUSTER and not plan["paused"]:
        known = status.get("clusterMetrics") or {}
        requeue = metrics.look_again(resource, known, requeue)
    if resource["kind"] != names.CLUSTER:
        requeue = _look_at_pods(resource, rollout, observed.get("pods") or [], requeue, now)
        requeue = _look_at_set(resource, plan, observed, requeue, now)
        requeue = rolls.look_again(_told(observed, "roll"), requeue)
    if resource["kind"] == names.CN_SET and not plan["paused"]:
        ending = rounds.ending(resource, observed.get("pods") or [], now)
        events += rounds.occurrences(resource, _told(observed, "round"), ending)
    events += _told(observed, "round").get("events") or []
    return {
        "status": status,
        "events": events,
        "ready": ready,
        "message": status["message"],
        "requeue": requeue,
    }


def _look_at_pods(
    resource: Resource,
    rollout: set_states.Rollout,
    pods: list[dict[str, Any]],
    otherwise: str,
    now: str,
) -> str:
    """Return when to look at Pods again, which lead to no run themselves.

    The controller of the workload tells of their readiness, but not of what keeps them from it,
    nor of readiness that comes and goes; and its word may come before the Pods themselves do.
    """
    agreed = sum(map(pod_status.is_ready, pods)) == rollout.ready
    serves = rollout.ready >= rollout.wanted
    if not rollout.exists or (agreed and serves):
        return otherwise
    early = serves and not holds(resource, ConditionType.READY)
    if early or pod_status.became_unready_lately(pods, now):
        return _LOOK_AGAIN_MOVING
    return otherwise or ("" if serves else _LOOK_AGAIN_ALONE)


def _look_at_set(
    resource: Resource, plan: Plan, observed: Observed, otherwise: str, now: str
) -> str:
    """Return when to look again because of what HAKeeper and the kind of the set have to tell."""
    kind, round_, requeue = resource["kind"], _told(observed, "round"), otherwise
    if kind == names.CN_SET and not plan["paused"]:
        requeue = rounds.look_again(round_, requeue)
    if not plan["paused"] and _awaits_the_end_of_pods(resource, observed):
        requeue = _LOOK_AGAIN_ENDING
    if kind == names.DN_SET and requeue:
        moment = datetime.fromisoformat(now).timestamp()
        requeue = nodes.look_again(observed.get("pods") or [], moment, requeue)
    if kind == names.DN_SET and round_.get("unserved"):
        requeue = _LOOK_AGAIN_UNSERVED
    if kind == names.LOG_SET and not plan["paused"]:
        pods = observed.get("pods") or []
        requeue = log_states.look_again(resource, pods, round_, requeue, now)
    return requeue


def _awaits_the_end_of_pods(resource: Resource, observed: Observed) -> bool:
    """Tell whether Pods of a Deployment still end; a StatefulSet tells of its own."""
    if WORKLOAD_KINDS.get(resource["kind"]) != "Deployment":
        return False
    return any(pod["metadata"].get("deletionTimestamp") for pod in observed.get("pods") or [])


def _rollout(
    resource: Resource, plan: Plan, observed: Observed, applied: Applied
) -> set_states.Rollout:
    workload = (applied.get("objects") or {}).get(plan["workload"]) or observed.get("workload")
    replicas = (resource.get("spec") or {}).get("replicas")
    return set_states.Rollout.of(workload, None if plan["paused"] else replicas)


def _set_status(
    resource: Resource,
    plan: Plan,
    observed: Observed,
    rollout: set_states.Rollout,
    failure: str,
    now: str,
) -> dict[str, Any]:
    facts = set_states.SetFacts(
        resource=resource,
        rollout=rollout,
        pods=observed.get("pods") or [],
        expected=_expected_pods(resource, rollout.wanted if rollout.exists else 0),
        paused=plan["paused"],
        invalid=plan["invalid"],
        waiting=plan["waitingFor"],
        failure=failure,
        refused=plan["refused"],
        volumes=awaited_volumes(observed.get("claims") or []),
        round=_told(observed, "round"),
        roll=_told(observed, "roll"),
        ending=rounds.ending(resource, observed.get("pods") or [], now),
    )
    status = set_states.set_status(facts, now)
    if resource["kind"] == names.LOG_SET:
        status["logShardReplicas"] = _shard_replicas(resource, plan)
        status["shards"] = _shards(resource, facts.round)
    if resource["kind"] == names.CN_SET:
        status["labelSelector"] = set_states.selector_text(resource)
        status["stores"] = node_entries(facts.pods, _work_states(resource, plan, facts.round))
    return {name: value for name, value in status.items() if value is not None}


def _work_states(resource: Resource, plan: Plan, round_: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the work states of compute nodes; what was told where a look made no round."""
    if "states" in round_ or plan["paused"]:
        return round_.get("states") or {}
    return told_states(resource)


def _shards(resource: Resource, round_: Mapping[str, Any]) -> Any:
    """Return what is known of the log shards; what was, where HAKeeper was not asked."""
    if round_.get("asked"):
        return round_["shards"]
    return (resource.get("status") or {}).get("shards")


def _told(observed: Observed, action: str) -> Mapping[str, Any]:
    """Return how the round over a set's stores, or the step of a roll, ended; empty without one."""
    found = observed.get(action)
    return found if isinstance(found, Mapping) else {}


def _expected_pods(resource: Resource, wanted: int) -> list[str]:
    """Return the names of a StatefulSet's Pods; those of a Deployment are random."""
    kind = resource["kind"]
    if WORKLOAD_KINDS[kind] != "StatefulSet":
        return []
    base = names.base_name(kind, resource["metadata"]["name"])
    return [f"{base}-{ordinal}" for ordinal in range(wanted)]


def _shard_replicas(resource: Resource, plan: Plan) -> int | None:
    """Return how many replicas a log shard was founded with, as far as it is known."""
    spec = resource.get("spec") or {}
    given = (spec.get("initialConfig") or {}).get("logShardReplicas")
    kept = (resource.get("status") or {}).get("logShardReplicas") or given
    if kept:
        return int(kept)
    if not plan["objects"]:
        return None
    return 3 if int(spec.get("replicas") or 0) >= 3 else 1


def _cluster_facts(
    resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str
) -> ClusterFacts:
    single = [observed.get(label) for label in ("logSet", "dnSet", "proxySet", "webUI")]
    seen = [*single, *(observed.get("cnSets") or [])]
    live = {named(one): one for one in seen if one is not None}
    live.update(applied.get("objects") or {})
    credential = observed.get("credential")
    made = "" if failure else plan["credential"]
    return ClusterFacts(
        resource=resource,
        wanted=plan["objects"] or _parts(resource, [one for one in seen if one is not None]),
        live=live,
        credential=credential["metadata"]["name"] if credential else made,
        paused=plan["paused"],
        invalid=plan["invalid"],
        waiting=plan["waitingFor"],
        failure=failure,
        metrics=metrics.status_of(resource, _told(observed, "round")),
        login=logins.problem(_told(observed, "round")),
    )


def _parts(resource: Resource, there: list[Manifest]) -> list[Manifest]:
    """Return the parts of a cluster that is left alone: those that are there, and what it lacks.

    A part of which there is none at all is not forgotten: without it the cluster serves nobody.
    """
    try:
        rendered = render_matrixonecluster(resource)
    except RenderingError:
        return there
    kinds = {one["kind"] for one in there}
    return [*there, *(one for one in rendered if one["kind"] not in kinds)]


def _credential_events(plan: Plan, observed: Observed, failure: str) -> list[Occurrence]:
    if not plan["credential"] or observed.get("credential") is not None or failure:
        return []
    note = f"made a random root credential in Secret {plan['credential']}"
    return [occurrence("CredentialCreated", note, action="Create")]


def beginning(resource: Resource) -> dict[str, Any]:
    """Return the status for the moment in which work on a new generation starts.

    Whether the set still serves is not known until the change has been applied.
    """
    status = dict(resource.get("status") or {})
    generation = int(resource["metadata"].get("generation") or 0)
    unknown = condition(
        ConditionType.READY, None, Reason.RECONCILING, "a change is being applied", generation
    )
    others = [one for one in status.get("conditions") or [] if one["type"] != unknown["type"]]
    return {**status, "conditions": [unknown, *others]}


def deleting(resource: Resource, left: list[str], seconds: int = 0) -> dict[str, Any]:
    """Return the status while a resource is being taken away.

    Args:
        resource: with its status so far.
        left: what still exists.
        seconds: how long that is waited for; 0 to leave that open.
    """
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    bound = f", at most {seconds} s" if seconds else ""
    message = f"waiting until gone{bound}: {', '.join(left[:_NAMED])}{more}"
    return _going(resource, message if left else "being taken away", Reason.DELETING)


def draining(
    resource: Resource, pods: Iterable[Mapping[str, Any]], round_: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the status of a CNSet that is being taken away while its compute nodes drain.

    Args:
        resource: with its status so far.
        pods: its Pods.
        round_: how the round over them ended.
    """
    status = _going(resource, rounds.awaited(round_), Reason.DRAINING)
    return {**status, "stores": node_entries(pods, round_.get("states") or {})}


def _going(resource: Resource, message: str, progress: Reason) -> dict[str, Any]:
    generation = int(resource["metadata"].get("generation") or 0)
    states = (
        (ConditionType.READY, False, Reason.DELETING),
        (ConditionType.SYNCED, False, Reason.DELETING),
        (ConditionType.PROGRESSING, True, progress),
    )
    conditions = [
        condition(kind, state, reason, message, generation) for kind, state, reason in states
    ]
    status = dict(resource.get("status") or {})
    return {
        **status,
        "observedGeneration": generation,
        "conditions": conditions,
        "phase": "Deleting",
        "message": message,
    }
