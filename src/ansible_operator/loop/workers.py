# SPDX-License-Identifier: Apache-2.0
"""Takes objects from the queue and reconciles them, side by side (runner.md §2.6)."""

import asyncio
import time
from collections.abc import Mapping

from ansible_operator import metrics
from ansible_operator.errors import OperatorError
from ansible_operator.logs import get_logger
from ansible_operator.loop.controller import Controller, Result
from ansible_operator.loop.queue import Key, Lane, WorkQueue

CANCEL_SECONDS = 15.0
"""Longest time that cancelled reconciles get to end their runs and to write their status."""

_LOG = get_logger("ansible-controller")


class Workers:
    """Runs all controllers on one queue."""

    def __init__(self, queue: WorkQueue, controllers: Mapping[str, Controller]) -> None:
        self._queue = queue
        self._controllers = controllers
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until cancelled; reconciles under way go on, see :meth:`drain`."""
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
        _LOG.debug("Reconciling", key="/".join(key), reason=self._queue.reason(key))
        try:
            result = self._after(key, await self._controllers[key.controller].reconcile(key))
        except OperatorError as error:
            delay = self._queue.retry(key)
            _LOG.error(
                "Reconciler error",
                controller=key.controller,
                namespace=key.namespace,
                name=key.name,
                error=str(error),
                retry_after=round(delay, 3),
            )
        except Exception:  # noqa: BLE001  # the supervisor of all reconciles
            delay = self._queue.retry(key)
            _LOG.exception(
                "Reconciler crashed", controller=key.controller, key=key, retry_after=delay
            )
        finally:
            self._queue.done(key)
            metrics.RECONCILE_TOTAL.labels(key.controller, result).inc()
            seconds = time.monotonic() - started
            metrics.RECONCILE_SECONDS.labels(key.controller).observe(seconds)
            _LOG.debug("Reconciled", key="/".join(key), result=result, seconds=round(seconds, 3))

    def _after(self, key: Key, result: Result) -> str:
        """Plan the next run; the result's name in metrics."""
        self._queue.forget(key)
        if result.gone:
            self._queue.drop(key)
        if result.requeue_after is None:
            return "success"
        self._queue.add_after(key, result.requeue_after, Lane.PERIODIC)
        return "requeue_after"
