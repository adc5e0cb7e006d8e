# SPDX-License-Identifier: Apache-2.0
"""What becomes of each claim: which Pod it names, and which one is bound to it.

A claim gets a Pod in two conditional writes. The claim names the Pod first, so that it cannot name
two; then the Pod is bound to the claim, which commits it. Whoever is interrupted in between leaves
a claim that names an idle Pod, which the next round binds, or an unavailable one, which the next
round clears. A claim is written by the pool that is responsible for it, a Pod and its store by the
pool of the Pod: while a claim migrates from one pool to another, these differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from . import keys
from .entitlement import is_entitled
from .facts import ClaimFacts, Phase, PodFacts
from .responsibility import first_match
from .round import Round, holds, is_lost
from .writes import ClaimWrite

MIGRATION_DELAY_SECONDS: Final = 15
"""Proxies must have learned of the target before sessions leave the source."""
_POLL_SECONDS: Final = 5.0


def advance_claims(work: Round, claims: Iterable[ClaimFacts]) -> None:
    """Plan what to do for claims that have or name a Pod, in the order in which they are served.

    Args:
        work: the round.
        claims: those that the pool is responsible for.
    """
    for claim in claims:
        if claim.deleting:
            continue
        held = work.held.get(claim.name, ())
        named = next((pod for pod in held if pod.name == claim.pod), None)
        if named is not None:
            _served(work, claim, named)
        elif held:
            _elsewhere(work, claim, held)
        elif claim.pod:
            _not_held(work, claim)
        elif not is_lost(claim):
            _without(work, claim)


def point_at(work: Round, claim: ClaimFacts, pod: PodFacts | None, why: str) -> None:
    """Let a claim name a Pod that it has or is to have, or none; any migration is over."""
    spec: dict[str, Any] = {"podName": None, "nodeName": None, "sourcePod": None}
    labels: dict[str, str | None] = {}
    if pod is not None:
        spec |= {"podName": pod.name, "nodeName": pod.node or None, "poolName": pod.pool or None}
        labels = {keys.LABEL_POOL: pod.pool or None}
        work.chosen[claim.name] = pod.name
    _write(work, claim, spec, labels, why)


def is_available(work: Round, pod: PodFacts) -> bool:
    """Return whether a Pod may be bound now."""
    store = work.snapshot.store(pod.name)
    return _is_idle(pod) and store.clean and not store.silent


def is_possible(work: Round, pod: PodFacts | None) -> bool:
    """Return whether a Pod may be bound, now or when its store is known."""
    if pod is None or not _is_idle(pod):
        return False
    store = work.snapshot.store(pod.name)
    return (store.clean and not store.silent) or store.known is None


def _is_idle(pod: PodFacts) -> bool:
    return pod.phase is Phase.IDLE and not pod.claim and pod.live and pod.ready


def claim_for(work: Round, pod: PodFacts) -> ClaimFacts | None:
    """Return the claim that an available Pod is to be bound to: the first that names it.

    A claim that has another Pod gets this one only as the target of a migration.
    """
    for claim in work.naming.get(pod.name, ()):
        if not is_entitled(work, claim, pod):
            continue
        held = work.held.get(claim.name, ())
        free = not held and not (is_lost(claim) or _has_lost(claim))
        if free or [one.name for one in held] == [claim.source]:
            return claim
    return None


def leaving_because(work: Round, claim: ClaimFacts, pod: PodFacts) -> str:
    """Return why a Pod that is bound to a claim is to be released; empty if it stays.

    Of several, the one stays that the claim names, and the source of a migration until proxies and
    clients can use the target.
    """
    held = work.held.get(claim.name, ())
    named = next((one for one in held if one.name == claim.pod), None)
    stays = named or primary(claim, held)
    if stays is pod:
        return ""
    if named is None or claim.source != pod.name:
        return f"CNClaim {claim.name} has {stays.name}"
    left = (named.claimed_at or 0.0) + MIGRATION_DELAY_SECONDS - work.snapshot.now
    reported = claim.ready and claim.recorded_pod == named.name
    if left <= 0 and reported:
        return f"CNClaim {claim.name} has moved to {named.name}"
    work.wake(left if left > 0 else _POLL_SECONDS)
    return ""


def is_in_use(work: Round, claim: ClaimFacts, pod: PodFacts) -> bool:
    """Return whether the store of a Pod has to work for a claim that it is bound to.

    One that is about to be left is not set to work again.
    """
    held = work.held.get(claim.name, ())
    return claim.pod == pod.name or all(one.name != claim.pod for one in held)


def _served(work: Round, claim: ClaimFacts, named: PodFacts) -> None:
    """The claim has the Pod that it names: complete its record, end migrations."""
    spec: dict[str, Any] = {}
    for field, present, value in (
        ("nodeName", claim.node, named.node),
        ("poolName", claim.pool, named.pool),
    ):
        if present != value:
            spec[field] = value or None
    label = claim.labels.get(keys.LABEL_POOL, "") != named.pool
    labels = {keys.LABEL_POOL: named.pool or None} if label else {}
    if claim.source and not _migrates(work, claim, named):
        spec["sourcePod"] = None
    if spec or labels:
        _write(work, claim, spec, labels, "recorded")


def _migrates(work: Round, claim: ClaimFacts, target: PodFacts) -> bool:
    """Return whether the source of a migration is still to be left or drains."""
    source = work.snapshot.pods.get(claim.source)
    if source is None or source is target or not source.live:
        return False
    goes_on = holds(claim, source) or source.phase is Phase.DRAINING
    if goes_on:
        work.wake(_POLL_SECONDS)
    return goes_on


def _elsewhere(work: Round, claim: ClaimFacts, held: Sequence[PodFacts]) -> None:
    """The claim has a Pod, but names another one, or none.

    An available one is the target of a migration. Otherwise there is nothing to migrate to: the
    claim goes on with what it has, and its target is never taken from somebody else.
    """
    present = primary(claim, held)
    target = work.snapshot.pods.get(claim.pod)
    if not _may_be_bound(work, claim, target):
        point_at(work, claim, present, "goes on with its Pod")
    elif claim.source != present.name:
        spec = {"sourcePod": {"podName": present.name, "nodeName": present.node}}
        _write(work, claim, spec, {}, "moves")


def primary(claim: ClaimFacts, held: Sequence[PodFacts]) -> PodFacts:
    """Return the Pod that a claim goes on with: the recorded one, else the one it got first."""
    return min(
        held,
        key=lambda pod: (
            pod.name != claim.recorded_pod,
            pod.name != claim.source,
            pod.claimed_at or 0.0,
            pod.created,
            pod.name,
        ),
    )


def _not_held(work: Round, claim: ClaimFacts) -> None:
    """The claim names a Pod that is not bound to it."""
    snapshot = work.snapshot
    named = snapshot.pods.get(claim.pod)
    lost = _has_lost(claim)
    if is_lost(claim):
        point_at(work, claim, None, "its Pod is lost")
    elif not lost and _may_be_bound(work, claim, named):
        work.unbound.append(claim)
    elif not lost:
        point_at(work, claim, None, f"Pod {claim.pod} is not available")
    elif snapshot.pool.deleting and first_match(claim, snapshot.pools):
        _leave_pool(work, claim)
    else:
        work.lost[claim.name] = _how_lost(claim, named)


def _may_be_bound(work: Round, claim: ClaimFacts, pod: PodFacts | None) -> bool:
    """Return whether a Pod may be bound to a claim, by its pool if that is another one."""
    if pod is None or not is_possible(work, pod) or not is_entitled(work, claim, pod):
        return False
    pools = {pool.name: pool for pool in (*work.snapshot.pools, work.snapshot.pool)}
    return pod.pool in pools and not pools[pod.pool].deleting


def _has_lost(claim: ClaimFacts) -> bool:
    """Return whether a claim had the Pod that it names, if it does not have it now."""
    return claim.ready and claim.recorded_pod == claim.pod


def _without(work: Round, claim: ClaimFacts) -> None:
    """The claim needs a Pod, if its pool stays."""
    snapshot = work.snapshot
    if not snapshot.pool.deleting:
        work.unbound.append(claim)
    elif first_match(claim, snapshot.pools):
        _leave_pool(work, claim)
    elif claim.ready:
        work.lost[claim.name] = "its pool is deleted"
    elif claim.pool == snapshot.pool.name:
        _write(work, claim, {"poolName": None}, {keys.LABEL_POOL: None}, "its pool is deleted")


def _leave_pool(work: Round, claim: ClaimFacts) -> None:
    spec = dict.fromkeys(("podName", "nodeName", "poolName", "sourcePod"))
    _write(work, claim, spec, {keys.LABEL_POOL: None}, "its pool is deleted")


def _how_lost(claim: ClaimFacts, pod: PodFacts | None) -> str:
    if pod is None:
        return f"Pod {claim.pod} does not exist any more"
    if pod.ended:
        return f"Pod {claim.pod} has ended"
    if pod.deleting:
        return f"Pod {claim.pod} is being deleted"
    holder = f" by CNClaim {pod.claim}" if pod.claim else ""
    return f"Pod {claim.pod} is {pod.phase.value}{holder}"


def _write(
    work: Round,
    claim: ClaimFacts,
    spec: dict[str, Any],
    labels: dict[str, str | None],
    why: str,
) -> None:
    write = ClaimWrite(claim.name, claim.uid, claim.version, spec, labels, why=why)
    work.add(write, on=f"Claim/{claim.name}")
