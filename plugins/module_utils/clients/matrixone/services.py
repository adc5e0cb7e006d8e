# SPDX-License-Identifier: Apache-2.0
"""The lock service of a transaction node, the query service of a compute node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from . import reading
from .answers import NOT_SUPPORTED, about, part, require_no_error
from .connection import Protocol
from .deadlines import Deadline
from .errors import BadRequest, MalformedAnswer, Refused, Unsupported
from .framing import Flag
from .peer import Peer
from .protobuf import Values
from .records import CNStoreRecord
from .tables import services as tables
from .tables.services import LockMethod, QueryMethod

_FLAGS: Final = Flag.CHECKSUM | Flag.HEADER


class LockService(Peer):
    """The lock-table allocator; take its address from the latest details, it moves."""

    protocol = Protocol("lock service", tables.LOCK_REQUEST, tables.LOCK_RESPONSE, "Method", _FLAGS)

    def can_restart(self, uuid: str, deadline: Deadline) -> bool:
        """Tell whether a compute node has no locks left; one that never had any has none.

        Raises:
            Unsupported: this release hands no locks over.
        """
        return bool(
            self._ask(LockMethod.CAN_RESTART, "CanRestartService", uuid, deadline).get("OK")
        )

    def set_restart(self, uuid: str, deadline: Deadline) -> None:
        """Begin to hand the locks of a compute node over. There is no way back but its restart.

        Never call it twice for the same process, nor when `can_restart` says yes: that undoes it.

        Raises:
            Refused: it was not taken note of.
            Unsupported: this release hands no locks over.
        """
        answer = self._ask(LockMethod.SET_RESTART, "SetRestartService", uuid, deadline)
        if not answer.get("OK"):
            raise Refused(f"{self.title(LockMethod.SET_RESTART)}: not taken note of", 0, "")

    def _ask(self, method: LockMethod, name: str, uuid: str, deadline: Deadline) -> Values:
        if not uuid:
            raise BadRequest("a store needs a UUID")
        answer = self.exchange(method, {name: {"ServiceID": uuid}}, deadline)
        require_no_error(self.title(method), answer, deadline)
        return dict(part(self.title(method), answer, name))


class NodeLockService(Peer):
    """The lock service of one compute node."""

    protocol = Protocol(
        "lock service of a compute node",
        tables.LOCK_REQUEST,
        tables.LOCK_RESPONSE,
        "Method",
        _FLAGS,
    )

    def ends_remote_deadlocks(self, deadline: Deadline) -> bool:
        """Tell whether this release ends deadlocks of transactions that wait elsewhere.

        It is asked to end the transaction without an id, which nobody has: nothing happens
        (abortDeadlockTxn in MatrixOne's pkg/lockservice/service.go).
        """
        method, name = LockMethod.ABORT_REMOTE_DEADLOCK, "AbortRemoteDeadlockTxn"
        answer = self.exchange(method, {name: {"txn": {}}}, deadline)
        try:
            require_no_error(self.title(method), answer, deadline)
        except Unsupported:
            return False
        return bool(part(self.title(method), answer, name).get("OK"))


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a compute node.

    Attributes:
        account: tenant; empty for some of the database's own.
        from_proxy: whether it came through the proxy, which can move it; releases before 1.1.2
            never say so.
        statement: what runs now; may hold anything that users write.
    """

    connection: int
    account: str
    user: str
    client: str
    from_proxy: bool
    began: datetime | None
    statement: str = field(repr=False)


def _session(values: Values) -> Session:
    return Session(
        values.get("ConnID", 0),
        values.get("Account", ""),
        values.get("User", ""),
        values.get("ClientHost", ""),
        bool(values.get("FromProxy", False)),
        reading.timestamp(values.get("SessionStart", {})),
        values.get("Info", ""),
    )


class QueryService(Peer):
    """What one compute node is busy with."""

    protocol = Protocol(
        "query service", tables.QUERY_REQUEST, tables.QUERY_RESPONSE, "CmdMethod", _FLAGS
    )

    def sessions(self, deadline: Deadline) -> tuple[Session, ...]:
        """Return the sessions of all accounts on this compute node."""
        values = {"ShowProcessListRequest": {"SysTenant": True}}
        name = "ShowProcessListResponse"
        answer = self._ask(QueryMethod.SHOW_PROCESS_LIST, values, name, deadline)
        return tuple(map(_session, answer.get("Sessions", [])))

    def pipelines(self, deadline: Deadline) -> int:
        """Return how many pipelines run here for other compute nodes.

        Raises:
            Unsupported: this release does not count them.
        """
        name = "GetPipelineInfoResponse"
        method = QueryMethod.GET_PIPELINE_INFO
        return self._count(method, {"GetPipelineInfoRequest": {}}, name, deadline)

    def replicas(self, store: CNStoreRecord, deadline: Deadline) -> int:
        """Return how many shard replicas are hosted here.

        A compute node without a shard service dies of the question, so that it is asked only
        where its settings say that it has one.

        Args:
            store: the compute node at this address, as HAKeeper knows it.
            deadline: when to give up.

        Raises:
            Unsupported: this compute node has no shard service.
        """
        what = self.title(QueryMethod.GET_REPLICA_COUNT)
        with about(what):
            hosts_shards = store.hosts_shards(deadline)
        if not hosts_shards:
            raise Unsupported(f"{what}: sharding is not enabled there", NOT_SUPPORTED, "")
        name = "GetReplicaCount"
        return self._count(QueryMethod.GET_REPLICA_COUNT, {name: {}}, name, deadline)

    def _count(
        self, method: QueryMethod, values: Mapping[str, Any], name: str, deadline: Deadline
    ) -> int:
        count = int(self._ask(method, values, name, deadline).get("Count", 0))
        if count < 0:
            raise MalformedAnswer(f"{self.title(method)}: a count of {count}")
        return count

    def _ask(
        self, method: QueryMethod, values: Mapping[str, Any], name: str, deadline: Deadline
    ) -> Values:
        answer = self.exchange(method, values, deadline)
        require_no_error(self.title(method), answer, deadline)
        return dict(part(self.title(method), answer, name))
