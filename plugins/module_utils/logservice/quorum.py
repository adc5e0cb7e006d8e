# SPDX-License-Identifier: Apache-2.0
"""Which replicas of the log shards run, by what HAKeeper records of all log stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..clients.matrixone.records import ClusterDetails, ClusterState, LogStoreRecord, ShardRecord
from ..reporting.health import HEARD_SECONDS
from .view import Shard, View


def view_of(details: ClusterDetails, state: ClusterState) -> View:
    """Bring the answers of HAKeeper into the shape that decisions are made from.

    A shard of which no store runs a replica is only in HAKeeper's own state; it has none alive.
    """
    running = running_shards(details)
    shards = []
    for number in sorted({*running, *state.shards}):
        shard = running.get(number) or _shard(state.shards[number], ())
        shards.append(replace(shard, desired=state.wanted_replicas.get(number)))
    silent = {store.uuid: store.silent for store in details.log_stores}
    placed = frozenset(store.uuid for store in details.log_stores if store.locality)
    return View(state.running, silent, shards, placed)


def running_shards(details: ClusterDetails) -> dict[int, Shard]:
    """Return each log shard that a store reports; 0 is HAKeeper's own.

    A member counts as alive when its store was heard of lately and itself lists the replica: a
    store that came back empty does not.
    """
    running = {
        (replica.shard.number, replica.number): store.uuid
        for store in details.log_stores
        if not store.expired and store.silent <= HEARD_SECONDS
        for replica in store.replicas
        if replica.voting
    }
    return {
        number: _shard(
            record,
            (
                uuid
                for replica, uuid in record.members.items()
                if running.get((number, replica)) == uuid
            ),
        )
        for number, record in sorted(_newest_records(details.log_stores).items())
    }


def _shard(record: ShardRecord, alive: Iterable[str]) -> Shard:
    return Shard(
        number=record.number,
        members=frozenset(record.members.values()),
        alive=frozenset(alive),
        leader=record.members.get(record.leader, "") if record.leader else "",
    )


def _newest_records(stores: Iterable[LogStoreRecord]) -> dict[int, ShardRecord]:
    newest: dict[int, ShardRecord] = {}
    for store in stores:
        for replica in store.replicas:
            record = replica.shard
            known = newest.get(record.number)
            # Of two records of the same members the one that knows a leader is worth more.
            if known is None or _age(record) > _age(known):
                newest[record.number] = record
    return newest


def _age(record: ShardRecord) -> tuple[int, int, bool]:
    return record.epoch, record.term, record.leader is not None
