# SPDX-License-Identifier: Apache-2.0
"""Takes objects from the queue and reconciles them, side by side."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ansible_operator import metrics
from ansible_operator.errors import OperatorError
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, Priority, Trigger, WorkQueue

CANCEL_SECONDS = 15.0
"""Longest time that cancelled reconciles get to end their runs and to write their status."""

REQUEUE_AFTER = "requeue_after"
"""Reason of a run that a play has asked for, with the module of that name."""

SPREAD_FROM = 300.0
"""Seconds; shorter periods are kept exactly."""

_LOG = get_logger("ansible-controller")


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """What follows a reconcile.

    Attributes:
        requeue_after: seconds until the next one; None, 0 or less for none but by an event.
        deleted: whether the object does not exist any more.
        requested: whether the play has asked for the next run, by ``requeue_after``.
        is_played: whether there was a play; if not, what the last one has asked for still counts.
    """

    requeue_after: float | None = None
    deleted: bool = False
    requested: bool = False
    is_played: bool = True


Reconcile: TypeAlias = Callable[[Key, Trigger], Awaitable[ReconcileResult]]
"""Reconciles one object. An OperatorError leads to a retry after a delay."""


class Workers:
    """Reconciles the objects of all controllers from one queue.

    Args:
        queue: where objects wait.
        reconciles: the reconcile of each controller, which may be added while workers run.
    """

    def __init__(self, queue: WorkQueue, reconciles: Mapping[str, Reconcile]) -> None:
        self._queue = queue
        self._reconciles = reconciles
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until cancelled; reconciles under way continue, see :meth:`drain`."""
        while True:
            key = await self._queue.get()
            task = asyncio.create_task(self._reconcile(key), name=f"reconcile {'/'.join(key)}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def drain(self, timeout: float) -> bool:
        """Take no more objects and wait for the runs under way; end those that take too long.

        Args:
            timeout: seconds to wait before runs are ended.

        Returns:
            Whether all runs could end by themselves.
        """
        self._queue.close()
        late = set(self._running)
        if late:
            _LOG.info("Waiting for runs to end", runs=len(late), timeout=timeout)
            _, late = await asyncio.wait(late, timeout=timeout)
        for task in late:
            task.cancel()
        if late:
            _LOG.info("Ended runs that took too long", runs=len(late))
            await asyncio.wait(late, timeout=CANCEL_SECONDS)
        return not late

    async def _reconcile(self, key: Key) -> None:
        started, result = time.monotonic(), "error"
        trigger = self._queue.trigger(key)
        _LOG.debug("Reconciling", key="/".join(key), reason=trigger.reason)
        try:
            result = self._after(key, await self._reconciles[key.controller](key, trigger))
        except OperatorError as error:
            self._fail(key, error)
        except Exception as error:  # noqa: BLE001  # the supervisor of all reconciles
            metrics.RECONCILE_PANICS.labels(key.controller).inc()
            self._fail(key, error, crashed=True)
        finally:
            self._queue.done(key)
            seconds = time.monotonic() - started
            metrics.RECONCILE_TOTAL.labels(key.controller, result).inc()
            metrics.RECONCILE_SECONDS.labels(key.controller).observe(seconds)
            _LOG.debug("Reconciled", key="/".join(key), result=result, seconds=round(seconds, 3))

    def _fail(self, key: Key, error: Exception, *, crashed: bool = False) -> None:
        delay = self._queue.retry(key)
        _LOG.error(
            "Reconciler crashed" if crashed else "Reconciler error",
            controller=key.controller,
            namespace=key.namespace,
            name=key.name,
            error=str(error) or type(error).__name__,
            retry_after=round(delay, 3),
            exc_info=crashed,
        )

    def _after(self, key: Key, result: ReconcileResult) -> str:
        """Plan the next run; the result's name in metrics."""
        self._queue.forget(key)
        if result.deleted:
            self._queue.drop(key)
        if not result.is_played and self._queue.restore(key):
            return "requeue_after"
        # As for the Go runner, a time that is not in the future means no requeue: taken literally,
        # an annotation of ``-1s`` would keep the object running forever.
        if result.requeue_after is None or result.requeue_after <= 0:
            return "success"
        if result.requested:
            self._queue.add_after(key, result.requeue_after, Priority.PERIODIC, REQUEUE_AFTER)
        else:
            self._queue.add_after(key, _spread(result.requeue_after), Priority.PERIODIC)
        return "requeue_after"


def _spread(period: float) -> float:
    """A long period with up to 5 % more, so that objects listed together drift apart."""
    return period * random.uniform(1, 1.05) if period >= SPREAD_FROM else period  # noqa: S311
