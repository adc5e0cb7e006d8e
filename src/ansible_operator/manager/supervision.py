# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of the process side by side and ends them in order."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Protocol

from ansible_operator.background import keep_running
from ansible_operator.engine.interface import Engine
from ansible_operator.errors import LeadershipLostError, OperatorError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.loop.control import ControlLoop
from ansible_operator.manager.webhook import Webhook

FLUSH_SECONDS = 2.0
LINGER_SECONDS = 3.0
"""How long a replica that ends continues to answer reviews: its Service may remove it that late."""


class Election(Protocol):
    """Decides when this process may reconcile."""

    async def acquire(self) -> None:
        """Wait until it may."""

    async def hold(self) -> None:
        """Watch until cancelled over whether it still may; see :meth:`LeaderElection.hold`."""

    def leave(self) -> None:
        """The process ends: it begins no more runs."""

    async def release(self) -> None:
        """Let others reconcile; all runs have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that run side by side once everything listens."""

    client: HttpClient
    engine: Engine
    loop: ControlLoop
    recorder: EventRecorder
    election: Election | None
    webhook: Webhook
    stopping: asyncio.Event
    engine_ready: asyncio.Event = field(default_factory=asyncio.Event)

    def unready(self) -> str:
        """Why objects cannot be run now; ``""`` if they can."""
        if self.stopping.is_set():
            return "stopping"
        if not self.loop.synced.is_set():
            return "caches are not complete yet"
        if not self.webhook.ready.is_set():
            return "the webhook does not answer yet"
        return "" if self.engine_ready.is_set() else "the engine is not warm yet"

    def slowness(self) -> str:
        """Why runs take longer than they should; ``""`` if they do not."""
        reason = self.engine.fallback
        text = "all runs are played through ansible-runner, which is slower"
        return f"{text}: {reason}" if reason else ""


async def supervise(parts: Parts, grace: float) -> None:
    """Run the parts until the stop, then end them in order.

    Args:
        parts: what runs.
        grace: seconds that runs under way get to end.

    Raises:
        OperatorError: a part has failed.
    """
    try:
        async with asyncio.TaskGroup() as group:
            recording = group.create_task(
                keep_running("recorder", parts.recorder.run), name="events"
            )
            working = group.create_task(_work(parts), name="work")
            admitting = group.create_task(
                keep_running("webhook", parts.webhook.serve, fatal=(OperatorError,)),
                name="webhook",
            )
            await parts.stopping.wait()
            if parts.election is not None:
                parts.election.leave()
            lingering = group.create_task(asyncio.sleep(_linger(parts, grace)))
            await parts.loop.drain(grace)
            working.cancel()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(parts.recorder.flush(), FLUSH_SECONDS)
            await asyncio.wait({working})
            await _release_lease(parts)
            await lingering
            admitting.cancel()
            recording.cancel()
    finally:
        await parts.loop.drain(0)
        await parts.engine.stop()
        await _release_lease(parts)


def _linger(parts: Parts, grace: float) -> float:
    """Return for how many seconds from now on reviews must still be answered."""
    if not parts.webhook.is_behind_a_service:
        return 0.0
    return min(LINGER_SECONDS, grace)


async def _release_lease(parts: Parts) -> None:
    """Release the lease, once nothing is written any more."""
    if parts.election is not None:
        await parts.election.release()


async def _work(parts: Parts) -> None:
    """Warm the engine while caches fill and the lease is waited for; then reconcile.

    Every replica does the first two, so that a new leader begins at once.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(_warm(parts), name="engine start")
        group.create_task(parts.loop.synchronize(), name="caches")
        if parts.election is not None:
            group.create_task(_lead(parts, parts.election), name="leader")
        else:
            group.create_task(_reconcile(parts), name="reconcile")


async def _warm(parts: Parts) -> None:
    await parts.engine.start()
    parts.engine_ready.set()


async def _lead(parts: Parts, election: Election) -> None:
    await election.acquire()
    async with asyncio.TaskGroup() as group:
        group.create_task(_hold(parts, election), name="lease")
        group.create_task(_reconcile(parts), name="reconcile")


async def _hold(parts: Parts, election: Election) -> None:
    try:
        await election.hold()
    except LeadershipLostError:
        # Another process may be reconciling already: nothing more may be written, not even while
        # the parts of this one end.
        await parts.client.close()
        raise


async def _reconcile(parts: Parts) -> None:
    await parts.engine_ready.wait()
    await parts.loop.work()
