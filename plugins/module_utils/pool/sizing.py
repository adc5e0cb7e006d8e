# SPDX-License-Identifier: Apache-2.0
"""How many Pods a pool has, and which are deleted."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Final

from .binding import terminate
from .claims import is_possible
from .facts import Phase, PodFacts, PoolFacts
from .round import Round, is_outdated
from .writes import GenerationDelete, PodCreate

_WEIGHTS: Final = {Phase.TERMINATING: 0, Phase.UNKNOWN: 256, Phase.IDLE: 512}
_OTHERS: Final = 1024
_IN_USE: Final = frozenset({Phase.BOUND, Phase.DRAINING})
_FREE: Final = frozenset({Phase.UNKNOWN, Phase.IDLE})
_RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Size:
    """How many Pods of the present generation a pool has and should have.

    Attributes:
        in_use: those that are bound or drain.
        free: the other ones.
        others: Pods of older generations, and those that are about to be deleted.
        pending: claims that need one.
        idle: those that are kept for later claims.
        most: Pods of all generations; None for any number.
        older: those of the others that nobody uses; they make room for new ones.
    """

    in_use: int = 0
    free: int = 0
    others: int = 0
    pending: int = 0
    idle: int = 0
    most: int | None = None
    older: int = 0

    @property
    def desired(self) -> int:
        """Return how many there should be, if there were no limit."""
        return self.in_use + self.pending + self.idle

    @property
    def allowed(self) -> int:
        """Return how many there should be; those in use stay whatever the limit is."""
        if self.most is None:
            return self.desired
        return max(self.in_use, min(self.desired, self.most - self.others))

    @property
    def to_create(self) -> int:
        """Return how many are missing."""
        return max(0, self.allowed - self.in_use - self.free)

    @property
    def surplus(self) -> int:
        """Return how many free ones are too many."""
        return max(0, self.in_use + self.free - self.allowed)

    @property
    def limited(self) -> str:
        """Return how the limit shows; empty if it does not."""
        total = self.others - self.older + self.desired
        if self.most is None or total <= self.most:
            return ""
        return f"pool at maxPods: {total} Pods are needed and {self.most} allowed"


def size_pool(work: Round, pods: Sequence[PodFacts], pending: int, named: Collection[str]) -> Size:
    """Plan creations and deletions of Pods that nobody uses; return the size of the pool.

    Args:
        work: the round.
        pods: Pods of the pool.
        pending: claims that need a Pod of this pool.
        named: Pods that claims name or get in this round; they are not deleted.
    """
    pool = work.snapshot.pool
    live = [pod for pod in pods if pod.live]
    present = [pod for pod in live if not is_outdated(work, pod)]
    free = [pod for pod in present if pod.phase in _FREE]
    # Claims that wait get a Pod that has drained in the next round: none is created for them.
    drained = {pod.name for pod in present if pod.phase in _IN_USE} & work.available
    in_use = sum(pod.phase in _IN_USE for pod in present) - len(drained)
    used = sum(pod.phase in _IN_USE for pod in live)
    older = [pod for pod in live if pod.phase in _FREE and is_outdated(work, pod)]
    size = Size(
        in_use=in_use,
        free=len(free) + len(drained),
        others=len(live) - in_use - len(free) - len(drained),
        pending=pending,
        idle=0 if pool.deleting else idle_target(pool, used, work.snapshot.now),
        most=pool.max_pods,
        older=len(older),
    )
    if pool.deleting:
        _terminate(work, older, (), "older than the pool's template")
        _terminate(work, free, (), "its pool is being deleted")
        return size
    _terminate(work, surplus(work, free, size.surplus, named), named, "more than maxIdle")
    _terminate(work, replaced(work, size, live, named), named, "older than the pool's template")
    _create(work, size)
    return size


def replaced(
    work: Round, size: Size, live: Sequence[PodFacts], named: Collection[str]
) -> list[PodFacts]:
    """Return which free Pods of older generations go: a warm one stays until a new one is warm.

    Where the limit leaves no room to create the new ones beside them, as many go as claims wait for
    a Pod or Pods start, at least one: a limit holds up no roll.

    Args:
        work: the round.
        size: of the pool.
        live: Pods of the pool that run on.
        named: Pods that claims name.
    """
    unnamed = [pod for pod in live if pod.name not in named and pod.phase in _FREE]
    older = [pod for pod in unnamed if is_outdated(work, pod)]
    warm = sorted((pod for pod in older if is_possible(work, pod)), key=deletion_order)
    cold = [pod for pod in older if not is_possible(work, pod)]
    ready = sum(is_possible(work, pod) and not is_outdated(work, pod) for pod in unnamed)
    kept = size.idle - ready
    if size.most is not None:
        ended = work.terminated
        starting = sum(
            pod.phase is Phase.UNKNOWN and not is_outdated(work, pod) and pod.name not in ended
            for pod in live
        )
        leaving = sum(pod.phase is Phase.TERMINATING or pod.name in ended for pod in live)
        others = len(live) - len(older) - starting - leaving
        kept = min(kept, size.most - others - max(1, size.pending, starting))
    return cold + warm[: max(0, len(warm) - max(0, kept))]


def idle_target(pool: PoolFacts, in_use: int, now: float) -> int:
    """Return how many idle Pods a pool keeps at a time."""
    moment = datetime.fromtimestamp(now, timezone.utc)
    minute, day = moment.hour * 60 + moment.minute, moment.weekday()
    number = pool.max_idle
    for window in pool.windows:
        over_midnight = window.end <= window.begin
        began_yesterday = over_midnight and minute < window.end
        inside = (
            minute >= window.begin or began_yesterday
            if over_midnight
            else window.begin <= minute < window.end
        )
        began = (day - 1) % 7 if began_yesterday else day
        if inside and (not window.days or began in window.days):
            number = window.idle
            break
    return max(number, math.ceil(in_use * pool.max_idle_percent / 100))


def surplus(
    work: Round, free: Sequence[PodFacts], count: int, named: Collection[str]
) -> list[PodFacts]:
    """Return which free Pods are too many: first those that no claim could get at present.

    Of the other ones, one that was returned lately is kept for a time.
    """
    if not count:
        return []
    now, kept_for = work.snapshot.now, work.snapshot.pool.reclaim_timeout
    usable = {pod.name: is_possible(work, pod) for pod in free}
    found: list[PodFacts] = []
    for pod in sorted(free, key=lambda pod: (usable[pod.name], deletion_order(pod))):
        left = (pod.returned_at or -math.inf) + kept_for - now
        if len(found) == count or pod.name in named:
            continue
        if left > 0 and usable[pod.name]:
            work.wake(left)
            continue
        found.append(pod)
    return found


def deletion_order(pod: PodFacts) -> tuple[int, float, str]:
    """Return by what Pods are deleted in order: what is of least use first, then the youngest."""
    weight = _WEIGHTS.get(pod.phase, _OTHERS) + bool(pod.claim)
    return (weight, -pod.created, pod.name)


def delete_generations(work: Round) -> None:
    """Plan the deletion of generations that have no Pods any more, and are not the present one."""
    snapshot = work.snapshot
    used = {pod.generation for pod in snapshot.pods.values()}
    for name in snapshot.generations:
        present = name == snapshot.pool.generation and not snapshot.pool.deleting
        if name not in used and not present and snapshot.pool.generation:
            work.add(GenerationDelete(name), on=f"Generation/{name}")


def _terminate(work: Round, pods: Iterable[PodFacts], named: Collection[str], why: str) -> None:
    for pod in pods:
        if pod.name not in named:
            work.add(terminate(pod, why), on=f"Pod/{pod.name}")


def _create(work: Round, size: Size) -> None:
    pool = work.snapshot.pool
    if not size.to_create:
        return
    if pool.generation in work.snapshot.generations:
        work.add(PodCreate(pool.generation, size.to_create), on=f"Generation/{pool.generation}")
    else:
        work.wake(_RETRY_SECONDS)
