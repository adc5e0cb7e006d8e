# SPDX-License-Identifier: Apache-2.0
"""The end of a process that has lost its lease: nothing more may be written."""

import asyncio
from typing import Any

import pytest

from ansible_operator.errors import LeadershipLostError
from ansible_operator.manager.supervision import Parts, supervise

SLOW_SECONDS = 0.3


class World:
    """All parts of a process; a run writes as long as it is allowed to.

    Attributes:
        lost: when the lease was lost, in the event loop's time.
        written: when the run wrote.
    """

    is_behind_a_service = False

    def __init__(self) -> None:
        self.is_closed = False
        self.lost = 0.0
        self.written: list[float] = []
        self.runs: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        self.is_closed = True

    async def start(self) -> None:
        """The engine starts."""

    async def stop(self) -> None:
        """The engine stops."""

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def serve(self) -> None:
        """A webhook that still answers reviews when it is to end."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(SLOW_SECONDS)

    async def synchronize(self) -> None:
        """Caches are complete."""

    async def work(self) -> None:
        self.runs.add(asyncio.create_task(self.write()))
        await asyncio.Event().wait()

    async def write(self) -> None:
        while not self.is_closed:
            self.written.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.01)

    async def drain(self, _timeout: float) -> bool:
        for run in self.runs:
            run.cancel()
        return True

    async def acquire(self) -> None:
        """The lease is ours."""

    async def hold(self) -> None:
        await asyncio.sleep(0.1)
        self.lost = asyncio.get_running_loop().time()
        raise LeadershipLostError("leader election lost")

    async def release(self) -> None:
        """The lease is given back."""


async def test_a_lost_lease_ends_all_writes_at_once() -> None:
    world = World()
    here: Any = world
    parts = Parts(
        client=here,
        engine=here,
        loop=here,
        recorder=here,
        election=here,
        webhook=here,
        stopping=asyncio.Event(),
    )
    with pytest.raises(ExceptionGroup) as failure:
        await supervise(parts, grace=1)
    assert failure.group_contains(LeadershipLostError)
    assert world.written
    assert world.written[-1] < world.lost + SLOW_SECONDS / 2
