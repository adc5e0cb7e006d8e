# SPDX-License-Identifier: Apache-2.0
"""Takes the place of a leader election when several processes share the objects.

As a group they hold the Lease that a single leader would hold. Processes of another group, as those
of the next version, and processes that elect one leader wait until the last of them has ended: no
object is run by two versions in turn. Within the group, see
:mod:`ansible_operator.manager.sharding.leases`.

A shard changes its process only while none of its objects is being run, and all its objects are run
once afterwards: nothing is run twice at once, and nothing that happened meanwhile is missed.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from ansible_operator import metrics
from ansible_operator.errors import ConfigError, KubeError, LeadershipLostError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.lease import LeaderElection, LeaseSettings
from ansible_operator.logs import get_logger
from ansible_operator.manager.sharding.balance import share
from ansible_operator.manager.sharding.leases import MEMBER, Seen, ShardLeases, Silence

LONGEST_NAME = 63
"""Characters: the name of the election is the value of a label."""
PATIENCE_SECONDS = 30.0
"""How long a process with too many shards waits for one of which no object is being run."""
CLOSED_SECONDS = 60.0
"""How long a shard that is to be given away may wait for its runs to end, with nobody to begin
others; afterwards it stays for :data:`PATIENCE_SECONDS` at least."""
LEAVING_SECONDS = 0.2
"""Time between two looks while the process ends."""

_FORBIDDEN = 403

_LOG = get_logger("shards")


class ShardedLoop(Protocol):
    """What the control loop does for shards."""

    @property
    def open_shards(self) -> frozenset[int]:
        """Numbers of the shards whose objects are run here."""

    def open_shard(self, number: int) -> None:
        """Run the objects of a shard from now on."""

    def close_shard(self, number: int) -> None:
        """Begin no more runs of the objects of a shard."""

    def runs_of_shards(self) -> dict[int, int]:
        """How many objects of each shard are being run."""


@dataclass(frozen=True, slots=True)
class _Closed:
    """A shard that is to be given away once its runs have ended."""

    number: int
    since: float


class ShardedElection:
    """One process's part: the interface of a :class:`LeaderElection`.

    Args:
        client: session to the API server.
        settings: of the election.
        group: which processes share objects; it is part of what others read in the Lease.
        count: shards of all processes together.
        loop: runs the objects.
        clock: monotonic seconds.

    Raises:
        ConfigError: the name is too long.
    """

    def __init__(
        self,
        client: HttpClient,
        settings: LeaseSettings,
        group: str,
        count: int,
        loop: ShardedLoop,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if len(settings.name) > LONGEST_NAME:
            raise ConfigError(
                f"with --shards, --leader-election-id may have at most {LONGEST_NAME} characters; "
                f"it has {len(settings.name)}"
            )
        self.settings = settings
        self._loop = loop
        self._clock = clock
        self._leases = ShardLeases(client, settings.namespace, settings.name, count)
        self._group = LeaderElection(
            client, replace(settings, identity=f"{count} shards of {group}")
        )
        self._member = LeaderElection(
            client,
            replace(
                settings,
                name=f"{settings.name}-member-{settings.identity.rpartition('_')[2]}",
                labels=self._leases.labels(MEMBER),
                ends_with_lease=True,
                shown_as=f"{settings.name}-member",
            ),
        )
        self._silence = Silence(clock)
        self._others = 0
        self._crowded_since: float | None = None
        self._closed: _Closed | None = None
        self._leaving = asyncio.Event()

    async def acquire(self) -> None:
        """Wait until the group has the Lease, and become a member of it."""
        await self._group.acquire()
        await self._member.acquire()

    async def hold(self) -> None:
        """Keep the Leases, and take and give shards, until cancelled.

        Raises:
            LeadershipLostError: see :meth:`LeaderElection.hold`.
            ConfigError: the process has not the permissions that it needs.
        """
        tasks = [
            asyncio.create_task(self._group.hold(), name="group lease"),
            asyncio.create_task(self._member.hold(), name="member lease"),
            asyncio.create_task(self._share(), name="shards"),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def leave(self) -> None:
        """Give away each shard as soon as none of its objects is being run: the process ends."""
        self._leaving.set()

    async def release(self) -> None:
        """Leave the group: all shards that are left are free."""
        for number in self._loop.open_shards:
            self._loop.close_shard(number)
        self._show()
        if not self._others:
            await self._group.release()
        await self._member.remove()

    async def _share(self) -> None:
        """Look at the Leases again and again, and do what follows."""
        while True:
            try:
                async with asyncio.timeout(self.settings.renew_deadline):
                    await self._round()
            except TimeoutError:
                _LOG.error("The Leases of shards cannot be read or written", error="no answer")
            except KubeError as error:
                if error.status == _FORBIDDEN:
                    raise ConfigError(
                        "--shards needs the permission to get, list, create, update, patch and "
                        f"delete leases in namespace {self.settings.namespace}: {error}"
                    ) from error
                _LOG.error("The Leases of shards cannot be read or written", error=str(error))
            if self._leaving.is_set():
                await asyncio.sleep(LEAVING_SECONDS)
                continue
            # Not wait_for: that of Python 3.11 swallows a cancellation that comes with the event.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.retry_period):
                    await self._leaving.wait()

    async def _round(self) -> None:
        seen = await self._without_silent(await self._leases.look())
        me, holders = self.settings.identity, seen.holders
        self._others = len(seen.members.keys() - {me})
        mine = {number for number, holder in holders.items() if holder == me}
        if me not in seen.members or self._loop.open_shards - mine:
            # Expelled, or somebody has written into a Lease.
            raise LeadershipLostError("leader election lost: another process has a shard of this")
        if self._leaving.is_set():
            await self._leases.tell_leaving(seen.members[me])
            await self._give(seen, mine, len(mine))
        elif (todo := share(me, seen.staying, holders, self._leases.count)).surplus:
            await self._give(seen, mine, todo.surplus)
        else:
            self._keep(mine)
            await self._take(seen, todo.free)
        self._show()

    async def _without_silent(self, seen: Seen) -> Seen:
        """Expel the processes that have not renewed in time; what is left."""
        members = dict(seen.members)
        others = {name: members[name] for name in members.keys() - {self.settings.identity}}
        for silent in self._silence.of(others, self.settings.duration):
            if await self._leases.expel(others[silent]):
                _LOG.info("A process has not renewed its Lease, its shards are free", holder=silent)
                del members[silent]
        return Seen(members, seen.shards)

    def _keep(self, mine: set[int]) -> None:
        """Run the objects of all shards that this process has."""
        self._closed = self._crowded_since = None
        for number in sorted(mine - self._loop.open_shards):
            self._open(number)

    async def _take(self, seen: Seen, free: tuple[int, ...]) -> None:
        me = self.settings.identity
        for number in free:
            if await self._leases.take(number, seen.shards.get(number), me):
                self._open(number)

    async def _give(self, seen: Seen, mine: set[int], surplus: int) -> None:
        """Give away shards: those of which nothing is run; after some time, close one for that."""
        runs = self._loop.runs_of_shards()
        idle = [number for number in sorted(mine, reverse=True) if not runs.get(number)]
        waiting = {self._closed.number} if self._closed else set()
        for number in sorted(idle, key=lambda one: one not in waiting)[:surplus]:
            self._loop.close_shard(number)
            if number in waiting:
                self._closed = self._crowded_since = None
            if await self._leases.give(number, seen.shards[number]):
                _LOG.info("Gave away a shard", shard=number)
        if len(idle) < surplus:
            self._wait_for_runs(mine - set(idle), runs)

    def _wait_for_runs(self, busy: set[int], runs: dict[int, int]) -> None:
        """Close the shard with the fewest runs when waiting for an idle one has taken too long."""
        if self._leaving.is_set():
            return  # nothing begins any more
        now = self._clock()
        if self._closed is not None:
            if now >= self._closed.since + CLOSED_SECONDS:
                self._open(self._closed.number)
                self._closed, self._crowded_since = None, now
            return
        if self._crowded_since is None:
            self._crowded_since = now
        if now >= self._crowded_since + PATIENCE_SECONDS:
            number = min(busy, key=lambda one: (runs.get(one, 0), one))
            self._loop.close_shard(number)
            self._closed = _Closed(number, now)

    def _open(self, number: int) -> None:
        self._loop.open_shard(number)
        _LOG.info("Running the objects of a shard", shard=number)

    def _show(self) -> None:
        metrics.SHARDS.labels(self.settings.name).set(len(self._loop.open_shards))
