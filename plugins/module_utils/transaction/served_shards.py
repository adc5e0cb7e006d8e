# SPDX-License-Identifier: Apache-2.0
"""Ask HAKeeper which shards the transaction nodes of a set serve.

That ends by its deadline: what could not be asked stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api import names
from ..clients.matrixone import ClusterDetails, Deadline, HAKeeper, MatrixOneError
from ..clients.matrixone.records import TNStoreRecord
from ..reporting.events import Occurrence
from ..workload.sets import SetContext
from .shards import TNShard, lines, store_uuid
from .stores_result import TNStoresResult

_SECONDS = 1.0


@dataclass(slots=True)
class ServedShards:
    """What HAKeeper answered.

    Attributes:
        asked: whether HAKeeper was asked.
        reached: whether it answered.
        problem: why it did not; empty if it did.
        unserved: Pods whose transaction node has no shard.
        silent: seconds since the last heartbeat by Pod, of those that HAKeeper knows.
        compute_nodes: seconds since the last heartbeat of each compute node that it knows.
        log_stores: seconds since the last heartbeat of each log store that it has not given up.
        shards: what the others serve, as the set's ConfigMap keeps it; empty if that is unknown.
    """

    asked: bool = False
    reached: bool = False
    problem: str = ""
    unserved: list[str] = field(default_factory=list)
    silent: dict[str, float] = field(default_factory=dict)
    compute_nodes: list[float] = field(default_factory=list)
    log_stores: list[float] = field(default_factory=list)
    shards: str = ""

    def stores(self, events: Sequence[Occurrence], blocked: str) -> TNStoresResult:
        """Return what the rest of the pass goes by.

        Args:
            events: what was done about the nodes.
            blocked: which Pod should be replaced and must not be; empty for none.
        """
        return TNStoresResult(
            ran=True,
            asked=self.asked,
            reached=self.reached,
            problem=self.problem,
            unserved=self.unserved,
            shards=self.shards,
            events=events,
            blocked=blocked,
        )


def ask(
    resource: Mapping[str, Any],
    workload: Mapping[str, Any],
    addresses: Sequence[str],
    deadline: Deadline,
) -> ServedShards:
    """Ask HAKeeper which shards the transaction nodes serve.

    Args:
        resource: the DNSet.
        workload: its StatefulSet.
        addresses: where HAKeeper may be; empty when no log store runs.
        deadline: when it ends.

    Raises:
        InvalidSpec: the DNSet cannot be read.
    """
    ready = int((workload.get("status") or {}).get("readyReplicas") or 0)
    desired = int((workload.get("spec") or {}).get("replicas") or 0)
    context = SetContext.of(names.DN_SET, dict(resource))
    if not addresses or not ready or ready < desired:
        return ServedShards()
    found, within = ServedShards(asked=True), deadline.within(_SECONDS)
    try:
        with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
            details = hakeeper.cluster_details(within)
            log_shards = hakeeper.cluster_state(within).log_shard_of
    except MatrixOneError as error:
        found.problem = str(error)
        return found
    found.reached = True
    found.compute_nodes = [store.silent for store in details.cn_stores]
    found.log_stores = details.log_silences
    shards: list[TNShard] = []
    for ordinal in range(desired):
        pod, store = f"{context.base}-{ordinal}", _store(details, store_uuid(context, ordinal))
        mine = store.shards if store is not None and store.serving else {}
        if store is not None:
            found.silent[pod] = store.silent
        if not mine:
            found.unserved.append(pod)
        shards += [
            TNShard(ordinal, shard, log_shards[shard], replica)
            for shard, replica in mine.items()
            if shard in log_shards
        ]
    found.shards = lines(shards)
    return found


def _store(details: ClusterDetails, uuid: str) -> TNStoreRecord | None:
    return next((store for store in details.tn_stores if store.uuid == uuid), None)
