# SPDX-License-Identifier: Apache-2.0
"""Messages of the lock service and of the query service."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..protobuf import Field, Kind, opaque, strings, table
from .logservice import TIMESTAMP


class LockMethod(IntEnum):
    """The calls of the lock services: of the transaction node, but for the last.

    ``ResumeInvalidCN`` (16) is none of ours: see `compute.resume_query`.
    """

    SET_RESTART = 12
    REMAINING = 13
    CAN_RESTART = 14
    ABORT_REMOTE_DEADLOCK = 17


class QueryMethod(IntEnum):
    """The calls of the query service that say how busy a compute node is."""

    SHOW_PROCESS_LIST = 1
    GET_PROTOCOL_VERSION = 10
    GET_PIPELINE_INFO = 19
    GET_REPLICA_COUNT = 24


ERROR: Final = table(
    "moerr.Error",
    Field(1, "code", Kind.UINT32),
    Field(2, "mysql_code", Kind.UINT32),
    *strings(3, "message", "sql_state"),
)

SERVICE_ARG: Final = table("lock.ServiceArg", *strings(1, "ServiceID"))
OK_RESULT: Final = table("lock.OKResult", Field(1, "OK", Kind.BOOL))
REMAIN_RESULT: Final = table("lock.RemainTxnResult", Field(1, "RemainTxn", Kind.INT32))
ABORTED_TXN: Final = table(
    "lock.AbortRemoteDeadlockTxnRequest",
    Field(
        1,
        "txn",
        Kind.MESSAGE,
        table(
            "lock.WaitTxn",
            Field(1, "TxnID", Kind.BYTES),
            *strings(2, "CreatedOn", "WaiterAddress"),
        ),
    ),
)
LOCK_REQUEST: Final = table(
    "lock.Request",
    Field(1, "RequestID", Kind.UINT64),
    *opaque(2, "LockTable"),
    Field(3, "Method", Kind.ENUM),
    *opaque(4, "Lock", "Unlock", "GetTxnLock", "GetWaitingList", "GetBind", "KeepLockTableBind"),
    *opaque(10, "KeepRemoteLock", "ValidateService", "CannotCommit", "GetActiveTxn"),
    Field(14, "SetRestartService", Kind.MESSAGE, SERVICE_ARG),
    Field(15, "CanRestartService", Kind.MESSAGE, SERVICE_ARG),
    Field(16, "RemainTxnInService", Kind.MESSAGE, SERVICE_ARG),
    *opaque(17, "CheckOrphan"),
    Field(20, "AbortRemoteDeadlockTxn", Kind.MESSAGE, ABORTED_TXN),
)
LOCK_RESPONSE: Final = table(
    "lock.Response",
    Field(1, "RequestID", Kind.UINT64),
    Field(2, "Method", Kind.ENUM),
    Field(3, "Error", Kind.BYTES),
    *opaque(4, "NewBind", "Lock", "Unlock", "GetTxnLock", "GetWaitingList", "GetBind"),
    *opaque(10, "KeepLockTableBind", "KeepRemoteLock", "ValidateService", "CannotCommit"),
    *opaque(14, "GetActiveTxn"),
    Field(15, "SetRestartService", Kind.MESSAGE, OK_RESULT),
    Field(16, "CanRestartService", Kind.MESSAGE, OK_RESULT),
    Field(17, "RemainTxnInService", Kind.MESSAGE, REMAIN_RESULT),
    *opaque(18, "CheckOrphan"),
    Field(20, "AbortRemoteDeadlockTxn", Kind.MESSAGE, OK_RESULT),
)

EMPTY: Final = table("query.Empty")
COUNT_RESULT: Final = table("query.CountResult", Field(1, "Count", Kind.INT64))
SESSION: Final = table(
    "status.Session",
    *strings(1, "NodeID"),
    Field(2, "ConnID", Kind.UINT32),
    *strings(3, "SessionID", "Account", "User", "Host", "DB"),
    Field(8, "SessionStart", Kind.MESSAGE, TIMESTAMP),
    *strings(9, "Command", "Info", "TxnID", "StatementID", "StatementType", "QueryType"),
    *strings(15, "SQLSourceType"),
    Field(16, "QueryStart", Kind.MESSAGE, TIMESTAMP),
    *strings(17, "ClientHost", "Role"),
    Field(19, "FromProxy", Kind.BOOL),
    *strings(20, "ProxyHost"),
)
QUERY_REQUEST: Final = table(
    "query.Request",
    Field(1, "RequestID", Kind.UINT64),
    Field(2, "CmdMethod", Kind.ENUM),
    Field(
        4,
        "ShowProcessListRequest",
        Kind.MESSAGE,
        table(
            "query.ShowProcessListRequest", *strings(1, "Tenant"), Field(2, "SysTenant", Kind.BOOL)
        ),
    ),
    Field(13, "GetProtocolVersion", Kind.MESSAGE, EMPTY),
    Field(22, "GetPipelineInfoRequest", Kind.MESSAGE, EMPTY),
    Field(
        27,
        "GetReplicaCount",
        Kind.MESSAGE,
        table("query.GetReplicaCountRequest", *strings(1, "CN")),
    ),
    *opaque(29, "GoMaxProcsRequest", "GoMemLimitRequest"),
    *opaque(31, "FileServiceCacheRequest", "FileServiceCacheEvictRequest"),
)
QUERY_RESPONSE: Final = table(
    "query.Response",
    Field(1, "RequestID", Kind.UINT64),
    Field(2, "CmdMethod", Kind.ENUM),
    Field(3, "Error", Kind.BYTES),
    Field(
        4,
        "ShowProcessListResponse",
        Kind.MESSAGE,
        table(
            "query.ShowProcessListResponse",
            Field(1, "Sessions", Kind.MESSAGE, SESSION, repeated=True),
        ),
    ),
    Field(
        13,
        "GetProtocolVersion",
        Kind.MESSAGE,
        table("query.VersionResult", Field(1, "Version", Kind.INT64)),
    ),
    Field(22, "GetPipelineInfoResponse", Kind.MESSAGE, COUNT_RESULT),
    Field(27, "GetReplicaCount", Kind.MESSAGE, COUNT_RESULT),
    *opaque(29, "GoMaxProcsResponse", "GoMemLimitResponse"),
    *opaque(31, "FileServiceCacheResponse", "FileServiceCacheEvictResponse"),
)
