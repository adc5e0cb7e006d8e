# SPDX-License-Identifier: Apache-2.0
"""Which pool serves a claim.

Every pool decides it from the same lists, so that no two serve the same claim. Should the lists of
two passes differ, the conditional write of the claim lets one of them win.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .facts import ClaimFacts, PodFacts, PoolFacts
from .round import is_lost
from .selectors import matches


def responsible_pool(
    claim: ClaimFacts, pools: Iterable[PoolFacts], pods: Mapping[str, PodFacts]
) -> str:
    """Return the name of the pool that serves a claim; empty if none does.

    The pool that it names; one that does not exist is awaited, unless it existed once. Then the
    pool of the Pod that it names. Then the first by name that is not being deleted and whose Pods
    the selector selects.
    """
    by_name = {pool.name: pool for pool in pools}
    if claim.pool in by_name:
        return claim.pool
    if claim.pool and not (claim.ready or is_lost(claim)):
        return ""
    named = pods.get(claim.pod)
    if named is not None and named.pool in by_name:
        return named.pool
    return first_match(claim, by_name.values())


def first_match(claim: ClaimFacts, pools: Iterable[PoolFacts]) -> str:
    """Return the first pool whose Pods a claim selects; empty if there is none."""
    fitting = (
        pool.name
        for pool in sorted(pools, key=lambda one: one.name)
        if not pool.deleting and matches(claim.selector, pool.pod_labels)
    )
    return next(fitting, "")
