# SPDX-License-Identifier: Apache-2.0
"""Metrics of the work queue, under client-go's names."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial

from ansible_operator import metrics


class QueueTimes:
    """When objects began to wait and when their runs began.

    Args:
        controllers: names of the controllers, the values of the label.
        clock: monotonic seconds.
    """

    def __init__(self, controllers: Iterable[str], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._waiting: dict[str, dict[Hashable, float]] = {name: {} for name in controllers}
        self._working: dict[str, dict[Hashable, float]] = {name: {} for name in self._waiting}
        for name in self._waiting:
            metrics.UNFINISHED_WORK.labels(name, name).set_function(partial(self._sum, name))
            metrics.LONGEST_RUNNING.labels(name, name).set_function(partial(self._longest, name))

    def added(self, controller: str, key: Hashable) -> None:
        """An object was added to the queue; further adds while it waits do not count."""
        waiting = self._waiting[controller]
        if key not in waiting:
            waiting[key] = self._clock()
            metrics.QUEUE_ADDS.labels(controller, controller).inc()

    def discarded(self, controller: str, key: Hashable) -> None:
        """An object that waits will not be taken any more."""
        self._waiting[controller].pop(key, None)

    def started(self, controller: str, key: Hashable) -> None:
        """A worker took an object."""
        now = self._clock()
        since = self._waiting[controller].pop(key, now)
        metrics.QUEUE_SECONDS.labels(controller, controller).observe(now - since)
        self._working[controller][key] = now

    def done(self, controller: str, key: Hashable) -> None:
        """The worker has finished it."""
        since = self._working[controller].pop(key, None)
        if since is not None:
            seconds = self._clock() - since
            metrics.WORK_SECONDS.labels(controller, controller).observe(seconds)

    def failed(self, controller: str) -> None:
        """An object is to be tried again because its reconcile failed."""
        metrics.QUEUE_RETRIES.labels(controller, controller).inc()
        metrics.RECONCILE_ERRORS.labels(controller).inc()

    def closed(self) -> None:
        """Objects that wait will not be taken any more."""
        for waiting in self._waiting.values():
            waiting.clear()

    def show(self, controller: str, active: int, depths: Mapping[str, int]) -> None:
        """Set the gauges: runs under way, and objects waiting per priority."""
        metrics.ACTIVE_WORKERS.labels(controller).set(active)
        for priority, depth in depths.items():
            metrics.QUEUE_DEPTH.labels(controller, controller, priority).set(depth)

    def _sum(self, controller: str) -> float:
        now = self._clock()
        return sum(now - since for since in self._working[controller].values())

    def _longest(self, controller: str) -> float:
        now = self._clock()
        return max((now - since for since in self._working[controller].values()), default=0.0)
