# SPDX-License-Identifier: Apache-2.0
"""The log stores and log shards of a log service as HAKeeper reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..reporting.health import HEARD_SECONDS

_HAKEEPER: Final = 0
"""The number of HAKeeper's own shard."""
REFUSES_REPLICAS: Final = (
    "log stores with a locality are given no replicas that vote; take it out of their config"
)


@dataclass(frozen=True, slots=True)
class Shard:
    """A log shard as HAKeeper has it; 0 is its own.

    Attributes:
        number: shard id.
        members: UUIDs of the stores with a voting replica.
        alive: those of them whose replica runs.
        desired: voting replicas that it should have; None when that is not known.
        leader: UUID of the store that leads; empty while none does.
    """

    number: int
    members: frozenset[str]
    alive: frozenset[str]
    desired: int | None = None
    leader: str = ""

    @property
    def complete(self) -> bool:
        """Whether all replicas that it should have run."""
        return self.members == self.alive and len(self.members) >= (self.desired or 0)

    def survives_without(self, stores: Iterable[str]) -> bool:
        """Return whether more than half of the replicas run without these stores."""
        return 2 * len(self.alive - frozenset(stores)) > len(self.members)


@dataclass(frozen=True, slots=True)
class View:
    """What HAKeeper answered; an answer also proves that it has a quorum.

    Attributes:
        running: whether it was bootstrapped.
        silent: seconds since the last heartbeat, by UUID of the log store.
        shards: the log shards.
        placed: UUIDs of the log stores with a locality.
    """

    running: bool
    silent: Mapping[str, float]
    shards: Sequence[Shard]
    placed: frozenset[str] = frozenset()

    def stores_of(self, ordinal: int) -> frozenset[str]:
        """Return the UUIDs that stores of an ordinal have or had, of any incarnation."""
        known = {*self.silent, *(uuid for shard in self.shards for uuid in shard.members)}
        return frozenset(uuid for uuid in known if ordinal_of(uuid) == ordinal)

    def _lives(self, uuid: str) -> bool:
        return self.silent.get(uuid, HEARD_SECONDS + 1) <= HEARD_SECONDS

    def heard(self, ordinal: int) -> bool:
        """Return whether any store of an ordinal gave a sign of life lately."""
        return any(map(self._lives, self.stores_of(ordinal)))

    def silence(self, ordinal: int) -> float | None:
        """Return the seconds since any store of an ordinal was heard; None if none ever was."""
        heard = [self.silent[uuid] for uuid in self.stores_of(ordinal) if uuid in self.silent]
        return min(heard, default=None)

    def without_data(self, ordinal: int) -> bool:
        """Return whether a store lives that does not run the replicas that it is counted on for."""
        return any(
            self._lives(uuid)
            for shard in self.shards
            for uuid in shard.members - shard.alive
            if ordinal_of(uuid) == ordinal
        )

    def has_removed(self, ordinal: int, seconds: float) -> bool:
        """Return whether HAKeeper has not heard a store for some seconds, and does not use it.

        A log store that was away for longer than ``log-store-timeout`` comes back with a replica of
        HAKeeper that is no member any more. From 2.0 on, it asks that replica for the state of the
        cluster before each heartbeat, which takes all the time that the heartbeat has (heartbeat in
        MatrixOne's pkg/logservice/service_commands.go): it is never heard again.
        """
        silence = self.silence(ordinal)
        is_silent = silence is not None and silence > seconds
        return is_silent and self.running and bool(self.shards) and not self.counts_on(ordinal)

    def counts_on(self, ordinal: int) -> bool:
        """Return whether a shard has a replica on a store of an ordinal."""
        own = self.stores_of(ordinal)
        return any(shard.members & own for shard in self.shards)

    def within(self, replicas: int) -> View:
        """Return it without the replicas that run on stores that a set of a size has no place for.

        They are leaving, or have left so lately that HAKeeper has not missed them yet.
        """
        shards = [
            replace(
                shard,
                alive=frozenset(one for one in shard.alive if (ordinal_of(one) or 0) < replicas),
            )
            for shard in self.shards
        ]
        return replace(self, shards=shards)

    def runs_on(self, ordinal: int) -> bool:
        """Return whether a replica runs on a store of an ordinal."""
        return any(shard.alive & self.stores_of(ordinal) for shard in self.shards)

    def led_by(self, ordinal: int) -> tuple[int, int]:
        """Return how many shards of the database a store of an ordinal leads, and how many others.

        When the leader of the first kind ends, writers wait for up to ten seconds: MatrixOne's
        transaction nodes ask it again once, and wait that long for an answer
        (pkg/vm/engine/tae/logstore/driver/logservicedriver). HAKeeper's is missed by nobody.
        """
        led = [shard.number for shard in self.shards if shard.leader in self.stores_of(ordinal)]
        return sum(number != _HAKEEPER for number in led), led.count(_HAKEEPER)

    def missed(self, ordinal: int) -> list[int]:
        """Return the shards that still count on a store of an ordinal that does not run."""
        return [
            shard.number
            for shard in self.shards
            if any(ordinal_of(uuid) == ordinal for uuid in shard.members - shard.alive)
        ]

    def refuses_replicas(self, ordinal: int) -> bool:
        """Return whether replicas of an ordinal would find no other store.

        HAKeeper gives replicas that vote only to stores without a locality, but for the first ones
        (selectStore in MatrixOne's pkg/hakeeper/checkers/logservice/filter.go). Log stores of a set
        have their locality in common; one that is silent may still be known with one of before.
        """
        return any(map(self._lives, self.placed - self.stores_of(ordinal)))

    def incomplete(self) -> list[int]:
        """Return the shards that have fewer running replicas than they should."""
        return [shard.number for shard in self.shards if not shard.complete]


def ordinal_of(uuid: str) -> int | None:
    """Return the ordinal in a log store's UUID; None for any other UUID."""
    groups = uuid.split("-")
    try:
        return int(groups[4], 16) if groups[:3] == ["00000000", "0000", "0000"] else None
    except (IndexError, ValueError):
        return None


def incarnation_of(uuid: str) -> int:
    """Return the incarnation in a log store's UUID."""
    return int(uuid.split("-")[3], 16) if ordinal_of(uuid) is not None else 0


def ordinal_of_pod(pod: str) -> int:
    """Return the ordinal in a Pod's name."""
    return int(pod.rpartition("-")[2])


def listed(numbers: Iterable[int]) -> str:
    """Return the numbers of shards as text."""
    return ", ".join(map(str, sorted(numbers)))
