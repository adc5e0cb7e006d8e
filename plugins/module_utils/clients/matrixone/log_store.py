# SPDX-License-Identifier: Apache-2.0
"""What one log store answers for itself: discovery, and the state of its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .answers import require_accepted
from .connection import Protocol
from .deadlines import Deadline
from .errors import NotLeader
from .framing import Flag
from .peer import Peer
from .protobuf import Values
from .tables import logservice
from .tables.logservice import Method

HAKEEPER_SHARD: Final = 0
PROTOCOL: Final = Protocol(
    "log service",
    logservice.REQUEST,
    logservice.RESPONSE,
    "Method",
    Flag.PAYLOAD | Flag.CHECKSUM | Flag.HEADER,
)


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """Where the replicas of a shard are, as one store heard it; it may be long out of date.

    Attributes:
        shard: number of the shard.
        leader: replica id of the leader.
        addresses: address by replica id; an expired store has none.
        stores: store UUID by replica id.
    """

    shard: int
    leader: int
    addresses: Mapping[int, str]
    stores: Mapping[int, str]


class LogStore(Peer):
    """One log store at one address."""

    protocol = PROTOCOL

    def ask(self, method: Method, values: Mapping[str, Any], deadline: Deadline) -> Values:
        """Make a call and return its answer.

        Raises:
            MatrixOneError: there is no answer, or it is a refusal.
        """
        answer = self.exchange(method, {"LogRequest": {}, **values}, deadline)
        code, text = answer.get("ErrorCode", 0), answer.get("ErrorMessage", "")
        require_accepted(self.title(method), code, text)
        return answer

    def hosts_hakeeper(self, deadline: Deadline) -> bool:
        """Tell whether a HAKeeper replica runs here; it may be without a quorum."""
        answer = self.ask(Method.CHECK_HAKEEPER, {}, deadline)
        return bool(answer.get("IsHAKeeper", False))

    def shard_info(self, shard: int, deadline: Deadline) -> ShardInfo:
        """Return where the replicas of a shard are.

        Raises:
            NotLeader: the store does not know who leads.
        """
        answer = self.ask(Method.GET_SHARD_INFO, {"LogRequest": {"ShardID": shard}}, deadline)
        info = answer.get("ShardInfo", {})
        replicas = info.get("Replicas", {})
        leader = info.get("LeaderID", 0)
        if leader not in replicas:
            raise NotLeader(f"{self.title(Method.GET_SHARD_INFO)}: nobody leads shard {shard}")
        return ShardInfo(
            shard,
            leader,
            {number: one.get("ServiceAddress", "") for number, one in replicas.items()},
            {number: one.get("UUID", "") for number, one in replicas.items()},
        )
