# SPDX-License-Identifier: Apache-2.0
"""Which waiting claim gets which idle Pod: one pass over both, for all claims of a pool.

Claims are served in their order, the oldest of the highest priority first. One that cannot be
served holds up no other. While a new template rolls out, a claim that finds no Pod of it gets one
of an earlier one, unless it replaces a claim that has such a Pod: its set would replace it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..reporting.reasons import PoolReason
from .claims import is_available, point_at
from .entitlement import quota_of
from .facts import ClaimFacts, ClaimPhase, Phase, Placement, PodFacts, PoolFacts
from .round import Round, is_outdated
from .selectors import identity, matches
from .writes import Waiting


class Shelf:
    """Pods that can be given to claims, by name, in the order in which they are."""

    def __init__(self, pods: Iterable[PodFacts]) -> None:
        self._pods = {pod.name: pod for pod in pods}
        self._fitting: dict[str, dict[str, PodFacts]] = {}

    def fitting(self, claim: ClaimFacts) -> Mapping[str, PodFacts]:
        """Return those that a claim selects; claims with equal selectors share the answer."""
        key = identity(claim.selector)
        if key not in self._fitting:
            self._fitting[key] = {
                name: pod for name, pod in self._pods.items() if matches(claim.selector, pod.labels)
            }
        return self._fitting[key]

    def take(self, name: str) -> None:
        """Remove a Pod, if it is one of these."""
        for pods in (self._pods, *self._fitting.values()):
            pods.pop(name, None)


@dataclass(slots=True)
class Stock:
    """The Pods that can be given to claims in this round.

    Attributes:
        present: available ones of the pool's template, oldest first.
        older: the same of earlier templates.
        replaced: uids of claim sets that have claims on such Pods.
        warm: by name, the owners that profit from what they have in their caches.
        used: Pods by owner.
        used_on: the same by node and owner; the owner is empty for all together.
        awaited: owners that have claims in this round, whose warm Pods others leave alone.
    """

    present: Shelf
    older: Shelf
    replaced: frozenset[str] = frozenset()
    warm: Mapping[str, str] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)
    used_on: Counter[tuple[str, str]] = field(default_factory=Counter)
    awaited: frozenset[str] = frozenset()

    def take(self, pod: PodFacts, owner: str) -> None:
        """Give a Pod to an owner."""
        self.present.take(pod.name)
        self.older.take(pod.name)
        self.count(pod, owner)

    def count(self, pod: PodFacts, owner: str) -> None:
        """Count a Pod as used."""
        self.used[owner] += 1
        self.used_on[pod.node, owner] += 1
        if owner:
            self.used_on[pod.node, ""] += 1


def stock_of(work: Round, pods: Sequence[PodFacts]) -> Stock:
    """Return what there is to give: Pods of the pool that no claim has or names already."""
    named = work.naming
    idle = [pod for pod in pods if is_available(work, pod) and pod.name not in named]
    idle.sort(key=lambda pod: (pod.created, pod.name))
    pool, now = work.snapshot.pool, work.snapshot.now
    stock = Stock(
        present=Shelf(pod for pod in idle if not is_outdated(work, pod)),
        older=Shelf(pod for pod in idle if is_outdated(work, pod)),
        replaced=_replaced(work),
        warm={pod.name: pod.last_owner for pod in idle if is_warm(pool, pod, now)},
    )
    for pod in pods:
        if pod.phase is Phase.BOUND:
            stock.count(pod, pod.owner)
        elif pod.phase is Phase.IDLE and pod.name in named:
            stock.count(pod, named[pod.name][0].owner)
    return stock


def _replaced(work: Round) -> frozenset[str]:
    claims = work.snapshot.claims.values()
    return frozenset(
        claim.controller
        for claim in claims
        if claim.controller and claim.phase == ClaimPhase.OUTDATED and not claim.deleting
    )


def match(work: Round, stock: Stock, claims: Sequence[ClaimFacts]) -> None:
    """Let waiting claims name the Pods that they are to have; note why others wait.

    Args:
        work: the round.
        stock: what there is.
        claims: those without a Pod, in the order in which they are served.
    """
    pool = work.snapshot.pool
    stock.awaited = frozenset(claim.owner for claim in claims if claim.owner)
    for claim in claims:
        reason = _refusal(work, stock, claim)
        if reason is not None:
            work.waiting.append(reason)
            continue
        pod = choose(pool, stock, claim, stock.present.fitting(claim))
        if pod is None and claim.controller not in stock.replaced:
            pod = choose(pool, stock, claim, stock.older.fitting(claim))
        if pod is None:
            message = "no idle node matches"
            work.waiting.append(Waiting(claim.name, PoolReason.NO_IDLE_NODE, message))
            continue
        stock.take(pod, claim.owner)
        point_at(work, claim, pod, f"gets Pod {pod.name}")


def choose(
    pool: PoolFacts, stock: Stock, claim: ClaimFacts, pods: Mapping[str, PodFacts]
) -> PodFacts | None:
    """Return the Pod that suits a claim best; None if there is none.

    The one that its owner returned last, while that has something in its caches; then one that
    nobody else waits for; then by node; then the oldest.

    Args:
        pool: the pool.
        stock: what there is.
        claim: the claim.
        pods: those that it selects, oldest first.
    """
    own = [
        pods[name]
        for name, owner in stock.warm.items()
        if claim.owner and owner == claim.owner and name in pods
    ]
    if own:
        return max(own, key=lambda pod: pod.returned_at or 1.0)
    if pool.placement is None:
        # The usual case, for each claim of a burst: without a look at all Pods.
        free = (pod for name, pod in pods.items() if stock.warm.get(name) not in stock.awaited)
        return next(free, None) or next(iter(pods.values()), None)
    nodes = {pod.node for pod in pods.values()}
    ranks = {node: _rank_of_node(pool, stock, claim, node) for node in nodes}

    def rank(pod: PodFacts) -> tuple[bool, int, float, str]:
        awaited = stock.warm.get(pod.name) in stock.awaited
        return (awaited, ranks[pod.node], pod.created, pod.name)

    return min(pods.values(), key=rank, default=None)


def is_warm(pool: PoolFacts, pod: PodFacts, now: float) -> bool:
    """Return whether a Pod has been used so lately that its last owner profits from it."""
    if not pod.last_owner or pool.warm_seconds is None:
        return bool(pod.last_owner)
    return pod.returned_at is not None and now - pod.returned_at < pool.warm_seconds


def _rank_of_node(pool: PoolFacts, stock: Stock, claim: ClaimFacts, node: str) -> int:
    if pool.placement is Placement.PACKED:
        return -stock.used_on[node, ""]
    if pool.placement is Placement.SPREAD:
        return stock.used_on[node, claim.owner]
    return 0


def _refusal(work: Round, stock: Stock, claim: ClaimFacts) -> Waiting | None:
    limit = quota_of(work.snapshot.pool, claim.owner)
    if limit is not None and stock.used[claim.owner] >= limit:
        message = f"quota of owner {claim.owner}: {limit} nodes"
        return Waiting(claim.name, PoolReason.OWNER_QUOTA, message)
    if not work.snapshot.reached:
        message = "HAKeeper does not answer"
        return Waiting(claim.name, PoolReason.HAKEEPER_UNREACHABLE, message)
    return None


def explain_limit(waiting: Iterable[Waiting], limited: str) -> tuple[Waiting, ...]:
    """Return why claims wait, where the pool may not grow for those that found no idle node."""
    return tuple(
        Waiting(one.claim, PoolReason.POOL_AT_MAX_PODS, f"no idle node matches, {limited}")
        if limited and one.reason == PoolReason.NO_IDLE_NODE
        else one
        for one in waiting
    )


def by_claim(waiting: Iterable[Waiting]) -> Mapping[str, Waiting]:
    """Return what claims wait for, by name."""
    return {one.claim: one for one in waiting}
