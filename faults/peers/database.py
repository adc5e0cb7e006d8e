# SPDX-License-Identifier: Apache-2.0
"""What the log service and compute nodes are asked, and what they answer when they are well.

Each question has a way to ask it, as the collection does, and the answers to the calls that this
takes. `MARK` stands in all that an answer may hold and no message may quote.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final
from unittest.mock import patch

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    CNStoreRecord,
    Deadline,
    HAKeeper,
    LockService,
    LogStore,
    QueryService,
    Reach,
    framing,
    hakeeper,
    protobuf,
    reading,
    tables,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import Load
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load_query import (
    load_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.quorum import (
    running_shards,
    view_of,
)

Json = Mapping[str, Any]
logservice, services = tables.logservice, tables.services
Method = logservice.Method
LockMethod = services.LockMethod
QueryMethod = services.QueryMethod
MARK: Final = "kept-to-itself"
_UUID: Final = "00000000-0000-0000-0000-00000000000"
_NO_SECOND_ATTEMPT: Final = (3600.0,)


@dataclass(frozen=True)
class Call:
    """A call, and its answer when all is well.

    Attributes:
        table: of the answer.
        method: name and value of the field that says which call it is.
        values: the rest of the answer.
        part: number of the field without which it is no answer; 0 if all may be missing.
    """

    table: protobuf.Message
    method: tuple[str, int]
    values: Json
    part: int = 0

    def body(self, number: int) -> bytes:
        """Return the answer to the request with a number."""
        name, value = self.method
        return protobuf.encode(self.table, {"RequestID": number, name: value, **self.values})


@dataclass(frozen=True)
class Question:
    """Something that the collection asks.

    Attributes:
        calls: that it makes, on one connection.
        ask: asks at an address.
        unknown: what it returns where there is no answer, if it raises no error then.
    """

    calls: tuple[Call, ...]
    ask: Callable[[str, Deadline], Any]
    unknown: Any = None


def framed(body: bytes) -> bytes:
    """Return a whole frame of a body, checksum included, whatever the body is."""
    flags = framing.Flag.CHECKSUM | framing.Flag.HEADER
    return framing.encode_frame(framing.Frame(flags, body, timeout=10**9))


def _log(method: Method, part: int = 0, **values: Any) -> Call:
    return Call(logservice.RESPONSE, ("Method", method), values, part)


def _query(method: QueryMethod, name: str, values: Json) -> Call:
    part = services.QUERY_RESPONSE.by_name[name].number
    return Call(services.QUERY_RESPONSE, ("CmdMethod", method), {name: values}, part)


def _lock(method: LockMethod, name: str, values: Json) -> Call:
    part = services.LOCK_RESPONSE.by_name[name].number
    return Call(services.LOCK_RESPONSE, ("Method", method), {name: values}, part)


def _shard(number: int) -> Json:
    return {
        "ShardID": number,
        "Replicas": {7 + one: f"{_UUID}{one}" for one in range(3)},
        "Epoch": 5,
        "LeaderID": 8,
        "Term": 3,
    }


_DETAILS: Final[Json] = {
    "LogStores": [
        {
            "UUID": f"{_UUID}{one}",
            "ServiceAddress": f"log-{one}.log:32001",
            "Tick": 1000 + one,
            "Replicas": [
                {"LogShardInfo": _shard(shard), "ReplicaID": 7 + one} for shard in range(2)
            ],
            "ConfigData": MARK.encode(),
            "Locality": {"Value": {"zone": "a"}} if one else {},
        }
        for one in range(3)
    ],
    "TNStores": [
        {
            "UUID": f"{_UUID}8",
            "ServiceAddress": "dn-0.dn:41010",
            "Tick": 1001,
            "Shards": [{"ShardID": 1, "ReplicaID": 9}],
            "LockServiceAddress": "dn-0.dn:6003",
            "ConfigData": MARK.encode(),
        }
    ],
    "CNStores": [
        {
            "UUID": f"{_UUID}9",
            "QueryAddress": "cn-0.cn:6004",
            "Tick": 999,
            "Labels": {"role": {"Labels": ["a", "b"]}},
            "WorkState": 1,
            "UpTime": 1_700_000_000_000_000_000,
            "ConfigData": MARK.encode(),
            "Resource": {"CPUTotal": 4, "CPUAvailable": 2.5, "MemTotal": 8, "MemAvailable": 4},
            "CommitID": "abc",
        }
    ],
    "ProxyStores": [{"UUID": f"{_UUID}7", "Tick": 998, "ListenAddress": "p-0.p:6009"}],
    "DeletedStores": [{"UUID": f"{_UUID}6", "UpTime": 10**18, "DownTime": 2 * 10**18}],
}
_STATE: Final[Json] = {
    "Tick": 1003,
    "ClusterInfo": {
        "TNShards": [{"ShardID": 1, "LogShardID": 1}],
        "LogShards": [{"ShardID": one, "NumberOfReplicas": 3} for one in range(2)],
    },
    "LogState": {"Shards": {one: _shard(one) for one in range(2)}},
    "State": 4,
    "NextId": 50,
    "NextIDByKey": {"a": 7},
    "NonVotingLocality": {},
}
_SESSIONS: Final[Json] = {
    "Sessions": [
        {
            "ConnID": 5,
            "Account": "acc1",
            "User": "dump",
            "SessionStart": {"seconds": 1_700_000_000, "nanos": 5},
            "Info": f"create user x identified by '{MARK}'",
            "FromProxy": True,
        },
        {"ConnID": 6, "Account": "sys", "Info": MARK},
    ]
}
_CONFIG: Final = protobuf.encode(
    logservice.CONFIG_DATA,
    {"Content": {"cn.shardservice.enable": {"CurrentValue": "true", "Internal": MARK}}},
)
_CHECK: Final = _log(Method.CHECK_HAKEEPER, IsHAKeeper=True)


def _record(address: str) -> CNStoreRecord:
    (found,) = reading.cluster_details({"CNStores": [{"UUID": f"{_UUID}9"}]}).cn_stores
    changes = {"query_address": address, "config_data": _CONFIG}
    return CNStoreRecord(
        **{one.name: changes.get(one.name, getattr(found, one.name)) for one in fields(found)}
    )


@contextmanager
def _asked(address: str) -> Iterator[HAKeeper]:
    """Give a client that does not try again: what it says of one answer is what counts."""
    with (
        patch.object(hakeeper, "_PAUSES", _NO_SECOND_ATTEMPT),
        HAKeeper(addresses=[address], reach=Reach.MACHINE) as found,
    ):
        yield found


def _details(address: str, deadline: Deadline) -> Any:
    with _asked(address) as found:
        details = found.cluster_details(deadline)
    running_shards(details)
    return details


def _view(address: str, deadline: Deadline) -> Any:
    with _asked(address) as found:
        details = found.cluster_details(deadline)
        state = found.cluster_state(deadline)
    return view_of(details, state)


def _of_store(ask: Callable[[LogStore, Deadline], Any]) -> Callable[[str, Deadline], Any]:
    def asked(address: str, deadline: Deadline) -> Any:
        with LogStore(address, Reach.MACHINE) as store:
            return ask(store, deadline)

    return asked


def _of_locks(ask: Callable[[LockService, Deadline], Any]) -> Callable[[str, Deadline], Any]:
    def asked(address: str, deadline: Deadline) -> Any:
        with LockService(address, Reach.MACHINE) as service:
            return ask(service, deadline)

    return asked


def _sessions(address: str, deadline: Deadline) -> Any:
    with QueryService(address, Reach.MACHINE) as query:
        return query.sessions(deadline)


def _load(address: str, deadline: Deadline) -> Any:
    return load_of(_record(address), deadline, Reach.MACHINE)


_DETAILS_CALL: Final = _log(Method.GET_CLUSTER_DETAILS, 9, ClusterDetails=_DETAILS)
_STATE_CALL: Final = _log(Method.GET_CLUSTER_STATE, 12, CheckerState=_STATE)
_SESSIONS_CALL: Final = _query(QueryMethod.SHOW_PROCESS_LIST, "ShowProcessListResponse", _SESSIONS)
QUESTIONS: Final[Mapping[str, Question]] = {
    "details": Question((_CHECK, _DETAILS_CALL), _details),
    "view": Question((_CHECK, _DETAILS_CALL, _STATE_CALL), _view),
    "shard-info": Question(
        (
            _log(
                Method.GET_SHARD_INFO,
                10,
                ShardInfo={
                    "ShardID": 1,
                    "LeaderID": 8,
                    "Replicas": {
                        7 + one: {"UUID": f"{_UUID}{one}", "ServiceAddress": f"log-{one}.log:1"}
                        for one in range(3)
                    },
                },
            ),
        ),
        _of_store(lambda store, deadline: store.shard_info(1, deadline)),
    ),
    "sessions": Question((_SESSIONS_CALL,), _sessions),
    "load": Question(
        (
            _SESSIONS_CALL,
            _query(QueryMethod.GET_PIPELINE_INFO, "GetPipelineInfoResponse", {"Count": 4}),
            _query(QueryMethod.GET_REPLICA_COUNT, "GetReplicaCount", {"Count": 5}),
        ),
        _load,
        unknown=Load(),
    ),
    "locks": Question(
        (_lock(LockMethod.CAN_RESTART, "CanRestartService", {"OK": True}),),
        _of_locks(lambda service, deadline: service.can_restart("a", deadline)),
    ),
}
"""What is asked, by a name for points."""


def odd_parts(value: Any, name: str = "") -> Iterator[str]:
    """Yield what is wrong with a result, whatever was answered: counts below zero, for instance.

    A peer that lies cannot be told from one that is right; a value that no database has can.
    """
    if isinstance(value, Enum | str | bytes | None | datetime):
        return
    if isinstance(value, int | float):
        if not math.isfinite(value) or (value < 0 and name in _NEVER_NEGATIVE):
            yield f"{name} is {value}"
    elif is_dataclass(value):
        for one in fields(value):
            yield from odd_parts(getattr(value, one.name), one.name)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from odd_parts(key, name)
            yield from odd_parts(one, name)
    elif isinstance(value, list | tuple | frozenset):
        for one in value:
            yield from odd_parts(one, name)
    else:
        yield f"{name} is a {type(value).__name__}"


_NEVER_NEGATIVE: Final = frozenset(
    {"tick", "silent", "sessions", "pipelines", "replicas", "cores", "memory", "free_cores", ""}
)


def noise(number: int) -> bytes:
    """Return frames that are no answers: pings, parts of streams, an answer to somebody else."""
    body = protobuf.encode(logservice.RESPONSE, {"RequestID": 7000 + number})
    parts = [framed(body)]
    for flag in (framing.Flag.PING, framing.Flag.PONG, framing.Flag.STREAM):
        flags = framing.Flag.CHECKSUM | framing.Flag.HEADER | flag
        parts.append(
            framing.encode_frame(framing.Frame(flags, struct.pack("<Q", number), timeout=1))
        )
    return b"".join(parts)
