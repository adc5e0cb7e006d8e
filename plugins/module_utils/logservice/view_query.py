# SPDX-License-Identifier: Apache-2.0
"""What HAKeeper answers about log stores and shards."""

from __future__ import annotations

from collections.abc import Sequence

from ..clients.matrixone import ClusterDetails, ClusterState, Deadline, HAKeeper, shard_health
from ..reporting.health import HEARD_SECONDS
from .view import Shard, View


def ask(addresses: Sequence[str], deadline: Deadline, seconds: float) -> View:
    """Ask HAKeeper for its log stores and shards.

    Args:
        addresses: where it may be.
        deadline: when the pass ends.
        seconds: how long each of the two questions may take.

    Raises:
        MatrixOneError: it does not answer.
    """
    with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
        details = hakeeper.cluster_details(deadline.within(seconds))
        state = hakeeper.cluster_state(deadline.within(seconds))
    return view_of(details, state)


def view_of(details: ClusterDetails, state: ClusterState) -> View:
    """Bring the answers of HAKeeper into the shape that decisions are made from.

    A shard of which no store runs a replica is only in HAKeeper's own state; it has none alive.
    """
    health = shard_health(details, HEARD_SECONDS)
    shards = []
    for number in sorted({*health, *state.shards}):
        known = health.get(number)
        shard = known.shard if known else state.shards[number]
        shards.append(
            Shard(
                number=number,
                members=frozenset(shard.members.values()),
                alive=known.alive if known else frozenset(),
                desired=state.wanted_replicas.get(number),
                leader=shard.members.get(shard.leader, "") if shard.leader else "",
            )
        )
    silent = {store.uuid: store.silent for store in details.log_stores}
    placed = frozenset(store.uuid for store in details.log_stores if store.locality)
    return View(state.running, silent, shards, placed)
