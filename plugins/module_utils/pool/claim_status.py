# SPDX-License-Identifier: Apache-2.0
"""The status of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api.timestamps import timestamp
from ..reporting.conditions import completed, condition
from ..reporting.reasons import ConditionType, PoolReason
from .claims import primary
from .facts import ClaimFacts, ClaimPhase, Phase, PodFacts, StoreFacts
from .round import Round, is_lost, is_outdated
from .writes import ClaimStatus, Waiting

"""Numbers of work states in HAKeeper."""


def add_statuses(work: Round, claims: Iterable[ClaimFacts], waiting: Mapping[str, Waiting]) -> None:
    """Plan the statuses that changed, of claims with which nothing else happens in this round.

    Args:
        work: the round, with all other writes.
        claims: those that the pool is responsible for.
        waiting: why those without a Pod wait, by name.
    """
    for claim in claims:
        busy = {f"Claim/{claim.name}"}
        if claim.name not in work.lost:
            busy |= {f"Pod/{claim.pod}", f"Store/{claim.pod}"}
        if claim.deleting or busy & work.touched:
            continue
        add_status(work, claim, desired_status(work, claim, waiting.get(claim.name)))


def add_status(work: Round, claim: ClaimFacts, status: Mapping[str, Any]) -> None:
    """Plan a status, if it differs from what is there."""
    whole = completed(status, claim.status, timestamp(work.snapshot.now))
    if whole != dict(claim.status):
        write = ClaimStatus(claim.name, claim.uid, claim.version, whole)
        work.add(write, on=f"ClaimStatus/{claim.name}")


def desired_status(work: Round, claim: ClaimFacts, waiting: Waiting | None) -> dict[str, Any]:
    """Return the status that a claim should have; conditions lack their times."""
    held = work.held.get(claim.name, ())
    if held:
        named = next((pod for pod in held if pod.name == claim.pod), None)
        return _bound(work, claim, named or primary(claim, held))
    if claim.name in work.lost or is_lost(claim):
        return lost_status(claim, work.lost.get(claim.name, ""))
    if waiting is not None:
        return pending_status(claim, waiting)
    message = f"is about to get Pod {claim.pod}" if claim.pod else "is about to get a Pod"
    return pending_status(claim, Waiting(claim.name, PoolReason.CLAIMING.value, message))


def pending_status(claim: ClaimFacts, waiting: Waiting) -> dict[str, Any]:
    """Return the status of a claim without a Pod."""
    reason = PoolReason(waiting.reason)
    kept = {"boundTime": claim.status["boundTime"]} if claim.status.get("boundTime") else {}
    return {
        "phase": ClaimPhase.PENDING.value,
        **kept,
        "conditions": [_ready(claim, False, reason, waiting.message)],
    }


def lost_status(claim: ClaimFacts, how: str) -> dict[str, Any]:
    """Return the status of a claim whose Pod is gone; how it was lost stays reported."""
    if is_lost(claim) and not how:
        before = [dict(one) for one in claim.status.get("conditions") or ()]
        return {**claim.status, "phase": ClaimPhase.LOST.value, "conditions": before or [
            _ready(claim, False, PoolReason.POD_LOST, "its Pod is lost")
        ]}  # fmt: skip
    kept = {key: claim.status[key] for key in ("boundTime", "store") if key in claim.status}
    ready = _ready(claim, False, PoolReason.POD_LOST, how)
    return {"phase": ClaimPhase.LOST.value, **kept, "conditions": [ready]}


def _bound(work: Round, claim: ClaimFacts, pod: PodFacts) -> dict[str, Any]:
    store, now = work.snapshot.store(pod.name), work.snapshot.now
    serves, served_before = store.serves(claim.cn_labels), claim.recorded_pod == pod.name
    phase = ClaimPhase.OUTDATED if _is_outdated(work, pod) else ClaimPhase.BOUND
    if not serves and not (claim.ready and served_before):
        phase = ClaimPhase.PENDING
    status: dict[str, Any] = {"phase": phase.value}
    if phase is not ClaimPhase.PENDING or claim.status.get("boundTime"):
        status["boundTime"] = claim.status.get("boundTime") or timestamp(now)
    before = dict(claim.status.get("store") or {}) if served_before else {}
    if serves:
        status["store"] = _store(pod, store, now)
    elif before:
        status["store"] = before
    if claim.source:
        source = work.snapshot.pods.get(claim.source)
        status["migrate"] = {"source": _load_of(work, source)}
    status["conditions"] = [_ready_of(claim, pod, store)]
    return status


def _is_outdated(work: Round, pod: PodFacts) -> bool:
    return pod.pool == work.snapshot.pool.name and is_outdated(work, pod)


def _ready_of(claim: ClaimFacts, pod: PodFacts, store: StoreFacts) -> dict[str, Any]:
    if store.serves(claim.cn_labels):
        if pod.ready:
            return _ready(claim, True, PoolReason.BOUND, f"bound to Pod {pod.name}")
        message = f"Pod {pod.name} is not ready"
        return _ready(claim, False, PoolReason.POD_NOT_READY, message)
    if store.known is None:
        message = f"HAKeeper does not answer, so the state of Pod {pod.name} is not known"
        return _ready(claim, None, PoolReason.HAKEEPER_UNREACHABLE, message)
    message = f"Pod {pod.name} is not yet a working store with the claim's labels"
    return _ready(claim, False, PoolReason.STORE_NOT_WORKING, message)


def _store(pod: PodFacts, store: StoreFacts, now: float) -> dict[str, Any]:
    """Return ``status.store``, with the key under which the predecessor had the Pod's name."""
    found = {
        "serviceID": store.service_id,
        "podName": pod.name,
        "string": pod.name,
        "lockServiceAddress": store.lock_address,
        "pipelineServiceAddress": store.pipeline_address,
        "sqlAddress": store.sql_address,
        "queryAddress": store.query_address,
        "workState": store.state.number,
        "labels": [{"key": key, "values": list(values)} for key, values in store.labels.items()],
        "boundTime": timestamp(now if pod.claimed_at is None else pod.claimed_at),
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def _load_of(work: Round, source: PodFacts | None) -> dict[str, int]:
    """Return what is left on the source of a migration; what is not known is left out."""
    if source is None or source.phase not in {Phase.BOUND, Phase.DRAINING}:
        return {}
    load = work.snapshot.store(source.name).load
    counts = {
        "connections": load.sessions,
        "pipelines": load.pipelines,
        "replicas": load.replicas,
    }
    return {key: value for key, value in counts.items() if value is not None}


def _ready(
    claim: ClaimFacts, holds: bool | None, reason: PoolReason, message: str
) -> dict[str, Any]:
    return condition(ConditionType.READY, holds, reason, message, claim.generation)
