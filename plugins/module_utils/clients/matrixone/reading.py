# SPDX-License-Identifier: Apache-2.0
"""Make records from decoded answers of HAKeeper."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from .protobuf import Values
from .records import (
    TICKS_PER_SECOND,
    ClusterDetails,
    ClusterState,
    CNStoreRecord,
    DeletedStore,
    LogStoreRecord,
    ProxyRecord,
    Replica,
    ShardRecord,
    TNStoreRecord,
    WorkState,
)
from .texts import shown

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_RUNNING: Final = 4
_LONGEST_UUID: Final = 64
_YEAR_ONE: Final = -62135596800
_LATEST_SECOND: Final = 253402300799
_NANOSECONDS: Final = 1_000_000_000


def when(nanoseconds: int) -> datetime | None:
    """Return the time that many nanoseconds after 1970; None for what was never set."""
    seconds = nanoseconds // _NANOSECONDS
    if not 0 < seconds <= _LATEST_SECOND:
        return None
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def timestamp(values: Values) -> datetime | None:
    """Return the time of a Timestamp; None for the zero time and for what cannot be one."""
    seconds = values.get("seconds", 0)
    if not _YEAR_ONE < seconds <= _LATEST_SECOND:
        return None
    nanos = values.get("nanos", 0)
    if not 0 <= nanos < _NANOSECONDS:
        return None
    return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _uuid(text: str) -> str:
    """Return a store id, which messages name; what is longer is none of ours."""
    return shown(text, _LONGEST_UUID)


def _shard(values: Values) -> ShardRecord:
    return ShardRecord(
        values.get("ShardID", 0),
        {number: _uuid(one) for number, one in values.get("Replicas", {}).items()},
        values.get("LeaderID", 0) or None,
        values.get("Epoch", 0),
        values.get("Term", 0),
    )


def _replica(values: Values) -> Replica:
    shard = _shard(values.get("LogShardInfo", {}))
    return Replica(values.get("ReplicaID", 0), not values.get("IsNonVoting", False), shard)


def _locality(values: Values) -> dict[str, str]:
    return dict(values.get("Value", {}))


def _store(values: Values, newest: int) -> dict[str, Any]:
    tick = values.get("Tick", 0)
    return {
        "uuid": _uuid(values.get("UUID", "")),
        "tick": tick,
        "expired": values.get("State", 0) != 0,
        "silent": (newest - tick) / TICKS_PER_SECOND,
    }


def _log_store(values: Values, newest: int) -> LogStoreRecord:
    return LogStoreRecord(
        **_store(values, newest),
        address=values.get("ServiceAddress", ""),
        replicas=tuple(map(_replica, values.get("Replicas", []))),
        locality=_locality(values.get("Locality", {})),
    )


def _tn_store(values: Values, newest: int) -> TNStoreRecord:
    shards = values.get("Shards", [])
    return TNStoreRecord(
        **_store(values, newest),
        service_address=values.get("ServiceAddress", ""),
        lock_address=values.get("LockServiceAddress", ""),
        query_address=values.get("QueryAddress", ""),
        shards={shard.get("ShardID", 0): shard.get("ReplicaID", 0) for shard in shards},
    )


def _cn_store(values: Values, newest: int) -> CNStoreRecord:
    labels = values.get("Labels", {})
    return CNStoreRecord(
        **_store(values, newest),
        work_state=WorkState.of(values.get("WorkState", 0)),
        labels={key: tuple(one.get("Labels", ())) for key, one in labels.items()},
        service_address=values.get("ServiceAddress", ""),
        sql_address=values.get("SQLAddress", ""),
        lock_address=values.get("LockServiceAddress", ""),
        query_address=values.get("QueryAddress", ""),
        commit=values.get("CommitID", ""),
        config_data=values.get("ConfigData", b""),
    )


def _proxy(values: Values, newest: int) -> ProxyRecord:
    return ProxyRecord(**_store(values, newest), address=values.get("ListenAddress", ""))


def _deleted(values: Values) -> DeletedStore:
    return DeletedStore(
        values.get("UUID", ""),
        values.get("StoreType", ""),
        values.get("Address", ""),
        when(values.get("UpTime", 0)),
        when(values.get("DownTime", 0)),
    )


def _newest(lists: Iterable[list[Values]]) -> int:
    return max((store.get("Tick", 0) for stores in lists for store in stores), default=0)


def cluster_details(values: Values) -> ClusterDetails:
    """Return the stores that a decoded ``logservice.ClusterDetails`` lists, by their ids."""
    kinds = ("LogStores", "TNStores", "CNStores", "ProxyStores")
    log, tn, cn, proxies = (
        sorted(values.get(kind, []), key=lambda one: str(one.get("UUID", ""))) for kind in kinds
    )
    newest = _newest((log, tn, cn, proxies))
    return ClusterDetails(
        tuple(_log_store(store, newest) for store in log),
        tuple(_tn_store(store, newest) for store in tn),
        tuple(_cn_store(store, newest) for store in cn),
        tuple(_proxy(proxy, newest) for proxy in proxies),
        tuple(map(_deleted, values.get("DeletedStores", []))),
    )


def cluster_state(values: Values) -> ClusterState:
    """Return HAKeeper's own state from a decoded ``logservice.CheckerState``."""
    info = values.get("ClusterInfo", {})
    shards = values.get("LogState", {}).get("Shards", {})
    return ClusterState(
        tick=values.get("Tick", 0),
        running=values.get("State", 0) == _RUNNING,
        wanted_replicas={
            shard.get("ShardID", 0): shard.get("NumberOfReplicas", 0)
            for shard in info.get("LogShards", [])
        },
        log_shard_of={
            one.get("ShardID", 0): one.get("LogShardID", 0) for one in info.get("TNShards", [])
        },
        shards={number: _shard(one) for number, one in shards.items()},
    )
