# SPDX-License-Identifier: Apache-2.0
"""What HAKeeper knows, as immutable values.

Numbers that are missing in an answer are zero on the wire, and only that: whatever could not be
asked is None or an error, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Final

from .deadlines import Deadline
from .decoding import decode
from .tables import logservice

TICKS_PER_SECOND: Final = 10
_SHARDING: Final = "shardservice.enable"


class WorkState(StrEnum):
    """Whether a compute node gets new sessions; HAKeeper numbers them in this order."""

    UNKNOWN = "Unknown"
    WORKING = "Working"
    DRAINING = "Draining"
    DRAINED = "Drained"

    @property
    def number(self) -> int:
        """The number that HAKeeper stores."""
        return list(WorkState).index(self)

    @classmethod
    def of(cls, number: int) -> WorkState:
        """Return a work state; HAKeeper stores any number, and an undefined one is unknown."""
        known = list(cls)
        return known[number] if 0 <= number < len(known) else cls.UNKNOWN


class Role(IntEnum):
    """What a compute node is for."""

    TP = 0
    AP = 1


Labels = Mapping[str, tuple[str, ...]]
"""Labels of a store in HAKeeper: a list of values under each key."""


@dataclass(frozen=True, slots=True)
class Store:
    """What all stores have.

    Attributes:
        uuid: store id.
        tick: HAKeeper's tick of the last heartbeat; ten in a second.
        expired: whether HAKeeper has given it up (compute node 30 s, transaction node 10 s, log
            store 5 min by default).
        silent: seconds between this store's last heartbeat and the newest one of any store.
    """

    uuid: str
    tick: int
    expired: bool
    silent: float


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A log shard as one store sees it; 0 is HAKeeper's own.

    Attributes:
        number: shard id.
        members: store UUID by id of the voting replica.
        leader: replica id of the leader; None while there is none.
        epoch: grows with each change of the members.
        term: grows with each election.
    """

    number: int
    members: Mapping[int, str]
    leader: int | None
    epoch: int
    term: int


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica that runs on a log store, and how it sees its shard."""

    number: int
    voting: bool
    shard: ShardRecord


@dataclass(frozen=True, slots=True)
class LogStoreRecord(Store):
    """A log store."""

    address: str
    replicas: tuple[Replica, ...]
    locality: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TNStoreRecord(Store):
    """A transaction node; without shards it does not serve yet."""

    service_address: str
    lock_address: str
    query_address: str
    shards: Mapping[int, int]

    @property
    def serving(self) -> bool:
        """Whether transactions can be committed."""
        return not self.expired and bool(self.shards)


@dataclass(frozen=True, slots=True)
class CNStoreRecord(Store):
    """A compute node.

    Attributes:
        commit: git commit of its program.
        config_data: settings in force, encoded; see `settings`.
    """

    work_state: WorkState
    labels: Labels
    service_address: str
    sql_address: str
    lock_address: str
    query_address: str
    commit: str
    config_data: bytes = field(repr=False)

    def settings(self, deadline: Deadline | None = None) -> dict[str, str]:
        """Return the settings in force by dotted lower-case name; they may hold secrets.

        Args:
            deadline: when to give up; a compute node may have registered any number of them.

        Raises:
            MalformedAnswer: they cannot be decoded.
            TimedOut: not within the deadline.
        """
        content = decode(logservice.CONFIG_DATA, self.config_data, deadline).get("Content", {})
        return {name: item.get("CurrentValue", "") for name, item in content.items()}

    def hosts_shards(self, deadline: Deadline | None = None) -> bool:
        """Tell whether table shards may be placed here; off by default.

        Raises:
            MalformedAnswer: or TimedOut, as `settings`.
        """
        settings = self.settings(deadline)
        return any(name.endswith(_SHARDING) and settings[name] == "true" for name in settings)


@dataclass(frozen=True, slots=True)
class ProxyRecord(Store):
    """A proxy; HAKeeper does not say whether it is expired."""

    address: str


@dataclass(frozen=True, slots=True)
class DeletedStore:
    """A compute node that has been removed in the last seven days."""

    uuid: str
    kind: str
    host: str
    up: datetime | None
    down: datetime | None


@dataclass(frozen=True, slots=True)
class ClusterDetails:
    """All stores that HAKeeper knows; an answer also proves that it has a quorum."""

    log_stores: tuple[LogStoreRecord, ...]
    tn_stores: tuple[TNStoreRecord, ...]
    cn_stores: tuple[CNStoreRecord, ...]
    proxies: tuple[ProxyRecord, ...]
    deleted: tuple[DeletedStore, ...]

    @property
    def log_silences(self) -> list[float]:
        """Seconds since the last heartbeat of each log store that HAKeeper has not given up."""
        return [store.silent for store in self.log_stores if not store.expired]

    def cn_store(self, uuid: str) -> CNStoreRecord | None:
        """Return a compute node; None when it is not registered."""
        return next((store for store in self.cn_stores if store.uuid == uuid), None)

    def serving_tn(self) -> TNStoreRecord | None:
        """Return the transaction node that serves; its lock address moves with its Pod."""
        return next((store for store in self.tn_stores if store.serving), None)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """HAKeeper's own state.

    Attributes:
        tick: its clock, ten in a second while it has a leader.
        running: whether it has been bootstrapped.
        wanted_replicas: voting replicas that each log shard should have.
        log_shard_of: log shard behind each shard of the transaction node.
        shards: the log shards as HAKeeper sees them.
    """

    tick: int
    running: bool
    wanted_replicas: Mapping[int, int]
    log_shard_of: Mapping[int, int]
    shards: Mapping[int, ShardRecord]
