# SPDX-License-Identifier: Apache-2.0
"""Which Pods a claim may name: a user can write any name into it.

The pool chooses only Pods that the selector selects, within the quota of the owner. What a claim
names by itself gets no more than that.
"""

from __future__ import annotations

from .facts import ClaimFacts, Phase, PodFacts, PoolFacts
from .round import Round
from .selectors import matches


def quota_of(pool: PoolFacts, owner: str) -> int | None:
    """Return how many Pods an owner may have; None for any number."""
    return pool.quotas.get(owner, pool.quota) if owner else None


def is_entitled(work: Round, claim: ClaimFacts, pod: PodFacts) -> bool:
    """Return whether a claim may be bound to a Pod that it names.

    Its selector selects the Pod. The Pod is of the pool that the claim names, if it names one; a
    claim that has a Pod may move from one pool to another. Its owner has not used up the quota of
    the Pod's pool; the Pod that a claim leaves for this one does not count.
    """
    held = work.held.get(claim.name, ())
    if any(one.name == pod.name for one in held):
        return True
    if not matches(claim.selector, pod.labels):
        return False
    if not held and claim.pool and claim.pool != pod.pool:
        return False
    pools = {pool.name: pool for pool in (*work.snapshot.pools, work.snapshot.pool)}
    pool = pools.get(pod.pool)
    limit = None if pool is None else quota_of(pool, claim.owner)
    return limit is None or _used_by_others(work, claim, pod.pool) < limit


def _used_by_others(work: Round, claim: ClaimFacts, pool: str) -> int:
    """Count the Pods of a pool that other claims of the owner have, or are about to have."""
    return sum(
        _user_of(work, pod, claim) == claim.owner
        for pod in work.snapshot.pods.values()
        if pod.pool == pool
    )


def _user_of(work: Round, pod: PodFacts, asking: ClaimFacts) -> str:
    """Return the owner that another claim uses a Pod for; empty if none does."""
    if pod.phase is Phase.BOUND:
        return "" if pod.claim == asking.name else pod.owner
    if pod.phase is not Phase.IDLE:
        return ""
    first = next(iter(work.naming.get(pod.name, ())), None)
    return "" if first is None or first.name == asking.name else first.owner
