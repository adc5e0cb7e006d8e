# SPDX-License-Identifier: Apache-2.0
"""Messages of the log service and of the HAKeeper in it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..protobuf import Field, Kind, opaque, strings, table


class Method(IntEnum):
    """The calls that a client makes; others write, fence a store out, or are internal."""

    GET_TRUNCATE = 4
    CONNECT_RO = 6
    CHECK_HAKEEPER = 10
    GET_CLUSTER_DETAILS = 11
    GET_SHARD_INFO = 12
    GET_CLUSTER_STATE = 14
    UPDATE_CN_LABEL = 15
    UPDATE_CN_WORK_STATE = 16
    PATCH_CN_STORE = 17
    DELETE_CN_STORE = 18
    UPDATE_NON_VOTING_REPLICA_NUM = 20
    UPDATE_NON_VOTING_LOCALITY = 21
    GET_LATEST_LSN = 24
    GET_LEADER_ID = 25
    CHECK_HEALTH = 26


TIMESTAMP: Final = table(
    "google.protobuf.Timestamp",
    Field(1, "seconds", Kind.INT64),
    Field(2, "nanos", Kind.INT32),
)
LABEL_LIST: Final = table("metadata.LabelList", Field(1, "Labels", Kind.STRING, repeated=True))
TN_SHARD_RECORD: Final = table(
    "metadata.TNShardRecord",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "LogShardID", Kind.UINT64),
)
LOG_SHARD_RECORD: Final = table(
    "metadata.LogShardRecord",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "NumberOfReplicas", Kind.UINT64),
)


def _labels(number: int) -> Field:
    return Field(number, "Labels", Kind.MESSAGE, LABEL_LIST, key=Kind.STRING)


LOCALITY: Final = table("logservice.Locality", Field(1, "Value", Kind.STRING, key=Kind.STRING))
LOG_REQUEST: Final = table(
    "logservice.LogRequest",
    *strings(1, "Name"),
    Field(2, "ShardID", Kind.UINT64),
    Field(3, "Lsn", Kind.UINT64),
    Field(4, "MaxSize", Kind.UINT64),
    Field(5, "TNShardID", Kind.UINT64),
    Field(6, "TNID", Kind.UINT64),
    Field(7, "TS", Kind.MESSAGE, TIMESTAMP),
    Field(8, "IncludeExpiredReplicaAddresses", Kind.BOOL),
    Field(9, "ExcludeHardDownReplicaAddresses", Kind.BOOL),
)
LOG_RESPONSE: Final = table(
    "logservice.LogResponse",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "Lsn", Kind.UINT64),
    Field(3, "LastLsn", Kind.UINT64),
    Field(4, "LeaderID", Kind.UINT64),
)
CN_STORE_LABEL: Final = table(
    "logservice.CNStoreLabel", *strings(1, "UUID"), Field(2, "Operation", Kind.ENUM), _labels(3)
)
CN_WORK_STATE: Final = table(
    "logservice.CNWorkState", *strings(1, "UUID"), Field(2, "State", Kind.ENUM)
)
CN_STATE_LABEL: Final = table(
    "logservice.CNStateLabel", *strings(1, "UUID"), Field(2, "State", Kind.ENUM), _labels(3)
)
DELETE_CN_STORE: Final = table("logservice.DeleteCNStore", *strings(1, "StoreID"))
CN_ALLOCATE_ID: Final = table(
    "logservice.CNAllocateID",
    *strings(1, "key"),
    Field(2, "Batch", Kind.UINT64),
    *strings(3, "RequestID"),
)
CHECK_HEALTH: Final = table("logservice.CheckHealth", Field(1, "ShardID", Kind.UINT64))
BACKUP_DATA: Final = table(
    "logservice.BackupData",
    Field(1, "NextID", Kind.UINT64),
    Field(2, "NextIDByKey", Kind.UINT64, key=Kind.STRING),
)
REQUEST: Final = table(
    "logservice.Request",
    Field(1, "RequestID", Kind.UINT64),
    Field(2, "Method", Kind.ENUM),
    Field(3, "LogRequest", Kind.MESSAGE, LOG_REQUEST),
    Field(8, "CNAllocateID", Kind.MESSAGE, CN_ALLOCATE_ID),
    Field(9, "CNStoreLabel", Kind.MESSAGE, CN_STORE_LABEL),
    Field(10, "CNWorkState", Kind.MESSAGE, CN_WORK_STATE),
    Field(11, "CNStateLabel", Kind.MESSAGE, CN_STATE_LABEL),
    Field(12, "DeleteCNStore", Kind.MESSAGE, DELETE_CN_STORE),
    Field(14, "NonVotingReplicaNum", Kind.UINT64),
    Field(15, "NonVotingLocality", Kind.MESSAGE, LOCALITY),
    Field(16, "CheckHealth", Kind.MESSAGE, CHECK_HEALTH),
)

REPLICA_INFO: Final = table("logservice.ReplicaInfo", *strings(1, "UUID", "ServiceAddress"))
SHARD_INFO: Final = table(
    "logservice.ShardInfoQueryResult",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "Replicas", Kind.MESSAGE, REPLICA_INFO, key=Kind.UINT64),
    Field(3, "Epoch", Kind.UINT64),
    Field(4, "LeaderID", Kind.UINT64),
    Field(5, "Term", Kind.UINT64),
)
RESOURCE: Final = table(
    "logservice.Resource",
    Field(1, "CPUTotal", Kind.UINT64),
    Field(2, "CPUAvailable", Kind.DOUBLE),
    Field(3, "MemTotal", Kind.UINT64),
    Field(4, "MemAvailable", Kind.UINT64),
)
CONFIG_ITEM: Final = table(
    "logservice.ConfigItem", *strings(1, "Name", "CurrentValue", "DefaultValue", "Internal")
)
CONFIG_DATA: Final = table(
    "logservice.ConfigData", Field(1, "Content", Kind.MESSAGE, CONFIG_ITEM, key=Kind.STRING)
)
TN_SHARD_INFO: Final = table(
    "logservice.TNShardInfo",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "ReplicaID", Kind.UINT64),
)
LOG_SHARD_INFO: Final = table(
    "logservice.LogShardInfo",
    Field(1, "ShardID", Kind.UINT64),
    Field(2, "Replicas", Kind.STRING, key=Kind.UINT64),
    Field(3, "Epoch", Kind.UINT64),
    Field(4, "LeaderID", Kind.UINT64),
    Field(5, "Term", Kind.UINT64),
    Field(6, "NonVotingReplicas", Kind.STRING, key=Kind.UINT64),
)
LOG_REPLICA_INFO: Final = table(
    "logservice.LogReplicaInfo",
    Field(1, "LogShardInfo", Kind.MESSAGE, LOG_SHARD_INFO),
    Field(2, "ReplicaID", Kind.UINT64),
    Field(3, "IsNonVoting", Kind.BOOL),
)
CN_STORE: Final = table(
    "logservice.CNStore",
    *strings(1, "UUID", "ServiceAddress", "SQLAddress", "LockServiceAddress", "CtlAddress"),
    Field(6, "Role", Kind.ENUM),
    Field(7, "Tick", Kind.UINT64),
    Field(8, "State", Kind.ENUM),
    _labels(9),
    Field(10, "WorkState", Kind.ENUM),
    *strings(11, "QueryAddress"),
    # Tens of kilobytes for each store: decoded for those who ask, see records.
    *opaque(12, "ConfigData"),
    Field(13, "Resource", Kind.MESSAGE, RESOURCE),
    Field(14, "UpTime", Kind.INT64),
    *strings(15, "ShardServiceAddress", "CommitID"),
)
TN_STORE: Final = table(
    "logservice.TNStore",
    *strings(1, "UUID", "ServiceAddress"),
    Field(3, "Tick", Kind.UINT64),
    Field(4, "State", Kind.ENUM),
    Field(5, "Shards", Kind.MESSAGE, TN_SHARD_INFO, repeated=True),
    *strings(6, "LogtailServerAddress", "LockServiceAddress", "CtlAddress"),
    *opaque(9, "ConfigData"),
    *strings(10, "QueryAddress", "ShardServiceAddress"),
    Field(12, "AutoIncrEpochFenceSupported", Kind.BOOL),
)
LOG_STORE: Final = table(
    "logservice.LogStore",
    *strings(1, "UUID", "ServiceAddress"),
    Field(3, "Tick", Kind.UINT64),
    Field(4, "State", Kind.ENUM),
    Field(5, "Replicas", Kind.MESSAGE, LOG_REPLICA_INFO, repeated=True),
    *opaque(6, "ConfigData"),
    Field(7, "Locality", Kind.MESSAGE, LOCALITY),
)
PROXY_STORE: Final = table(
    "logservice.ProxyStore",
    *strings(1, "UUID"),
    Field(2, "Tick", Kind.UINT64),
    *strings(3, "ListenAddress"),
    *opaque(4, "ConfigData"),
)
DELETED_STORE: Final = table(
    "logservice.DeletedStore",
    *strings(1, "UUID", "StoreType", "Address"),
    Field(4, "UpTime", Kind.INT64),
    Field(5, "DownTime", Kind.INT64),
)
CLUSTER_DETAILS: Final = table(
    "logservice.ClusterDetails",
    Field(1, "TNStores", Kind.MESSAGE, TN_STORE, repeated=True),
    Field(2, "CNStores", Kind.MESSAGE, CN_STORE, repeated=True),
    Field(3, "LogStores", Kind.MESSAGE, LOG_STORE, repeated=True),
    Field(4, "ProxyStores", Kind.MESSAGE, PROXY_STORE, repeated=True),
    Field(5, "DeletedStores", Kind.MESSAGE, DELETED_STORE, repeated=True),
)
CLUSTER_INFO: Final = table(
    "logservice.ClusterInfo",
    Field(1, "TNShards", Kind.MESSAGE, TN_SHARD_RECORD, repeated=True),
    Field(2, "LogShards", Kind.MESSAGE, LOG_SHARD_RECORD, repeated=True),
)
# The stores of the state are the same as in the details, which also say who is expired.
LOG_STATE: Final = table(
    "logservice.LogState",
    Field(1, "Shards", Kind.MESSAGE, LOG_SHARD_INFO, key=Kind.UINT64),
)
# Field 8, the credentials of the task table, is left out on purpose.
CHECKER_STATE: Final = table(
    "logservice.CheckerState",
    Field(1, "Tick", Kind.UINT64),
    Field(2, "ClusterInfo", Kind.MESSAGE, CLUSTER_INFO),
    Field(4, "LogState", Kind.MESSAGE, LOG_STATE),
    Field(6, "State", Kind.ENUM),
    Field(7, "TaskSchedulerState", Kind.ENUM),
    Field(9, "NextId", Kind.UINT64),
    Field(10, "NextIDByKey", Kind.UINT64, key=Kind.STRING),
    Field(13, "NonVotingReplicaNum", Kind.UINT64),
    Field(14, "NonVotingLocality", Kind.MESSAGE, LOCALITY),
)
RESPONSE: Final = table(
    "logservice.Response",
    Field(1, "RequestID", Kind.UINT64),
    Field(2, "Method", Kind.ENUM),
    Field(3, "ErrorCode", Kind.UINT32),
    *strings(4, "ErrorMessage"),
    Field(5, "IsHAKeeper", Kind.BOOL),
    Field(6, "LogResponse", Kind.MESSAGE, LOG_RESPONSE),
    Field(9, "ClusterDetails", Kind.MESSAGE, CLUSTER_DETAILS),
    *opaque(7, "CommandBatch", "TsoResponse"),
    Field(10, "ShardInfo", Kind.MESSAGE, SHARD_INFO),
    Field(
        11,
        "AllocateID",
        Kind.MESSAGE,
        table("logservice.AllocateIDResponse", Field(1, "FirstID", Kind.UINT64)),
    ),
    Field(12, "CheckerState", Kind.MESSAGE, CHECKER_STATE),
)
