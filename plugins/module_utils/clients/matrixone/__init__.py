# SPDX-License-Identifier: Apache-2.0
"""A client of a running MatrixOne: HAKeeper, lock service and query service.

It speaks the database's own RPC with nothing but the standard library. Every call takes a
`Deadline` and ends by it; every failure is a `MatrixOneError`; every answer is an immutable record.
Only actions import this package; rendering, status and planning never do.
"""

from __future__ import annotations

from .addresses import Reach
from .deadlines import Deadline
from .errors import (
    BadRequest,
    MalformedAnswer,
    MatrixOneError,
    NotLeader,
    NotNow,
    Refused,
    TimedOut,
    UnknownStore,
    Unreachable,
    Unsupported,
)
from .hakeeper import HAKeeper
from .log_store import LogStore
from .records import ClusterDetails, ClusterState, CNStoreRecord, WorkState
from .services import LockService, NodeLockService, QueryService, Session

__all__ = [
    "BadRequest",
    "CNStoreRecord",
    "ClusterDetails",
    "ClusterState",
    "Deadline",
    "HAKeeper",
    "LockService",
    "LogStore",
    "MalformedAnswer",
    "MatrixOneError",
    "NodeLockService",
    "NotLeader",
    "NotNow",
    "QueryService",
    "Reach",
    "Refused",
    "Session",
    "TimedOut",
    "UnknownStore",
    "Unreachable",
    "Unsupported",
    "WorkState",
]
