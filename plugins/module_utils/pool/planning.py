# SPDX-License-Identifier: Apache-2.0
"""One round of a pool's pass: from a snapshot to writes.

A pass repeats rounds until a plan has nothing to write. What one round left half done, the next one
finds in the facts; it makes no difference whether it belongs to the same pass or another process.
"""

from __future__ import annotations

from ..reporting.reasons import PoolReason
from . import matching
from .claim_status import add_statuses
from .claims import advance_claims
from .draining import advance_pods
from .facts import ClaimFacts, PodFacts, Snapshot
from .responsibility import responsible_pool
from .round import Round, in_order, is_lost, is_outdated
from .selectors import matches
from .sizing import delete_generations, size_pool
from .writes import PoolPlan


def plan_pool(snapshot: Snapshot) -> PoolPlan:
    """Return what one round does; a pass repeats rounds until there is nothing left to write."""
    work = Round.of(snapshot)
    claims, pods = own_claims(snapshot), own_pods(snapshot)
    advance_claims(work, claims)
    _match(work, pods)
    advance_pods(work, pods)
    size = size_pool(work, pods, _pending(work), _named(work))
    delete_generations(work)
    limited = "" if snapshot.pool.deleting else size.limited
    waiting = matching.explain_limit(work.waiting, limited)
    add_statuses(work, claims, matching.by_claim(waiting))
    return PoolPlan(
        writes=tuple(work.writes),
        wants_fresh=work.wants_fresh,
        sample=tuple(work.sample),
        hand_over=tuple(work.hand_over),
        waiting=waiting,
        requeue=min(work.wakes, default=None),
        limited=limited,
        finished=_is_finished(work, pods),
    )


def own_claims(snapshot: Snapshot) -> list[ClaimFacts]:
    """Return the claims that the pool is responsible for, in the order in which it serves them."""
    pools = snapshot.pools or (snapshot.pool,)
    own = (
        claim
        for claim in snapshot.claims.values()
        if responsible_pool(claim, pools, snapshot.pods) == snapshot.pool.name
    )
    return sorted(own, key=in_order)


def own_pods(snapshot: Snapshot) -> list[PodFacts]:
    """Return the Pods of the pool, by name."""
    own = (pod for pod in snapshot.pods.values() if pod.pool == snapshot.pool.name)
    return sorted(own, key=lambda pod: pod.name)


def _match(work: Round, pods: list[PodFacts]) -> None:
    stock = matching.stock_of(work, pods)
    matching.match(work, stock, [claim for claim in work.unbound if not claim.pod])


def _pending(work: Round) -> int:
    """Count the claims that a Pod of the present template would serve."""
    refused = {one.claim for one in work.waiting if one.reason == PoolReason.OWNER_QUOTA}
    labels = work.snapshot.pool.pod_labels
    return sum(
        claim.name not in refused
        and not _gets_older(work, claim)
        and (bool(claim.pod) or matches(claim.selector, labels))
        for claim in work.unbound
    )


def _gets_older(work: Round, claim: ClaimFacts) -> bool:
    """Return whether a claim names a Pod that is not of the present template, or is to name it."""
    pod = work.snapshot.pods.get(work.chosen.get(claim.name, claim.pod))
    return pod is not None and is_outdated(work, pod)


def _named(work: Round) -> set[str]:
    """Return the Pods that claims name, or are to name after this round."""
    return {*work.naming, *work.chosen.values()}


def _is_finished(work: Round, pods: list[PodFacts]) -> bool:
    snapshot = work.snapshot
    if not snapshot.pool.deleting or not snapshot.fresh or pods or snapshot.generations:
        return False
    name = snapshot.pool.name
    left = (one for one in snapshot.claims.values() if one.pool == name and not one.deleting)
    return all(is_lost(claim) and not claim.pod for claim in left)
