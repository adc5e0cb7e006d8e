# SPDX-License-Identifier: Apache-2.0
"""What the details of a cluster say about its log shards: quorum, leader, room for a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .records import ClusterDetails, LogStoreRecord, Shard

SILENT_SECONDS: Final = 10.0
"""Heartbeats come every second; who missed ten is not counted on."""


@dataclass(frozen=True, slots=True)
class ShardHealth:
    """One log shard.

    Attributes:
        shard: the newest view of it that any of its replicas has.
        alive: UUIDs of the stores whose voting replica runs.
    """

    shard: Shard
    alive: frozenset[str]

    @property
    def has_quorum(self) -> bool:
        """Whether more than half of the voting replicas run."""
        return 2 * len(self.alive) > len(self.shard.members)

    @property
    def lost(self) -> frozenset[str]:
        """UUIDs of the stores whose voting replica does not run."""
        return frozenset(self.shard.members.values()) - self.alive

    def survives_without(self, uuid: str) -> bool:
        """Tell whether a quorum would be left without one store."""
        return 2 * len(self.alive - {uuid}) > len(self.shard.members)


def _newest_views(stores: tuple[LogStoreRecord, ...]) -> dict[int, Shard]:
    views: dict[int, Shard] = {}
    for store in stores:
        for replica in store.replicas:
            shard = replica.shard
            known = views.get(shard.number)
            # Of two views of the same members the one that knows a leader is worth more.
            if known is None or _age(shard) > _age(known):
                views[shard.number] = shard
    return views


def _age(shard: Shard) -> tuple[int, int, bool]:
    return shard.epoch, shard.term, shard.leader is not None


def shard_health(details: ClusterDetails, silent: float = SILENT_SECONDS) -> dict[int, ShardHealth]:
    """Return the state of each log shard; 0 is HAKeeper's own.

    A member counts as alive when its store was heard of lately and itself lists the replica: a
    store that came back empty does not.

    Args:
        details: what HAKeeper answered.
        silent: seconds without a heartbeat after which a store is not counted on.
    """
    running = {
        (replica.shard.number, replica.number): store.uuid
        for store in details.log_stores
        if not store.expired and store.silent <= silent
        for replica in store.replicas
        if replica.voting
    }
    return {
        number: ShardHealth(
            shard,
            frozenset(
                uuid
                for replica, uuid in shard.members.items()
                if running.get((number, replica)) == uuid
            ),
        )
        for number, shard in sorted(_newest_views(details.log_stores).items())
    }
