# SPDX-License-Identifier: Apache-2.0
"""Whether the processes behind ready Pods gave a sign of life when they were asked.

Kubernetes calls a Pod ready whose port accepts connections. A process that is frozen, or that its
peers cannot reach, keeps its port; only its answer, or its heartbeat at HAKeeper, tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ..api import names
from ..api.pods import main_process, ready_at
from ..api.storage_answer import StorageAnswer
from ..api.timestamps import unix_time
from .conditions import find
from .reasons import ConditionType

HEARD_SECONDS: Final = 10.0
"""Heartbeats come every second; a store whose last one is no older than this is alive."""
_UNSETTLED_SECONDS: Final = 20.0
"""A store may need so long to find the new leader of HAKeeper when a log store fails; seen: 16."""
_SETTLING_SECONDS: Final = 20.0
"""So long after a log service lost nothing any more, stores may still look for its leader."""
_TOGETHER_SECONDS: Final = 5.0
"""Heartbeats come every second; processes that are cut off at once miss the same ones but a few."""
_REGISTERED_SECONDS: Final = 30.0
"""A store that has been ready for so long is known to HAKeeper."""
_SILENT: Final = f"HAKeeper has not heard from it for more than {HEARD_SECONDS:g} s"
_UNREGISTERED: Final = "HAKeeper does not know it"

Pod = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Health:
    """What the processes of a set answered.

    Attributes:
        unknown: why it is not known how they are; empty if it is.
        silent: what is wrong with each ready Pod that gives no sign of life.
        unresponsive: those of the silent ones that HAKeeper hears, and that do not recover by
            themselves.
        lacking: what else keeps the set from serving; empty if nothing does.
        storage: what the shared storage answered; None where nobody could tell.
        credential: which Pods have former keys of the object store, and what to do; empty if none
            has, None where that is not known.
        shards: the log shards, as the status of a LogSet lists them; None where nobody told.
    """

    unknown: str = ""
    silent: Mapping[str, str] = field(default_factory=dict)
    unresponsive: tuple[str, ...] = ()
    lacking: str = ""
    storage: StorageAnswer | None = None
    credential: str | None = None
    shards: Sequence[Mapping[str, int]] | None = None

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Health:
        """Return it from a task's result; nothing is wrong where nothing was asked."""
        return cls(
            unknown=str(found.get("unknown") or ""),
            silent=dict(found.get("silent") or {}),
            unresponsive=tuple(found.get("unresponsive") or ()),
            lacking=str(found.get("lacking") or ""),
            storage=StorageAnswer(found["storage"]) if found.get("storage") else None,
            credential=found.get("credential"),
            shards=found.get("shards"),
        )

    def as_result(self) -> dict[str, Any]:
        """Return it as a task's result has it."""
        return {
            "unknown": self.unknown,
            "silent": dict(self.silent),
            "unresponsive": list(self.unresponsive),
            "lacking": self.lacking,
            "storage": self.storage.value if self.storage else None,
            "credential": self.credential,
            "shards": None if self.shards is None else list(self.shards),
        }

    @property
    def is_good(self) -> bool:
        """Whether all stores answered and nothing is lacking; they serve without the storage."""
        return not (self.unknown or self.silent or self.lacking)

    @property
    def faults(self) -> str:
        """What is known to be wrong; empty if nothing is."""
        silent = [f"{pod} ({why})" for pod, why in sorted(self.silent.items())]
        return ", ".join([*silent, *([self.lacking] if self.lacking else [])])


def fell_silent(process: str, silent: float | None, now: float) -> bool:
    """Return whether a process was heard, and then no more for too long.

    The last heartbeat of a process that has just started may be that of its predecessor.

    Args:
        process: when it started, RFC 3339; empty while there is none.
        silent: seconds since the last heartbeat of its store; None where that is unknown.
        now: the present, Unix time.
    """
    if silent is None or not process:
        return False
    return silent > HEARD_SECONDS and unix_time(process) < now - silent


def is_settled(log_set: Mapping[str, Any] | None, log_stores: Iterable[float], now: float) -> bool:
    """Return whether silence of others is no consequence of what befell the log service.

    Args:
        log_set: the LogSet; None where the log service is an external one.
        log_stores: seconds since the last heartbeat of each of its log stores.
        now: the present, Unix time.
    """
    if any(silent > _TOGETHER_SECONDS for silent in log_stores):
        return False
    ready = find(log_set, ConditionType.READY)
    since = unix_time(ready.get("lastTransitionTime"))
    return log_set is None or (ready.get("status") == "True" and since + _SETTLING_SECONDS <= now)


def is_isolated(silent: float, peers: Iterable[float], *, settled: bool) -> bool:
    """Return whether a silent store and a peer of it may have taken each other for dead.

    That is so if HAKeeper heard the peer meanwhile. Stores that fall silent together are on the
    same side of a cut, e.g. of one around the log service, and hear each other.

    Nothing else tells sooner: during a cut, a compute node still answers logins, which it reads
    from what it has. A transaction node asks for its compute nodes every 20 s, for 10 s at most.

    Args:
        silent: seconds since the last heartbeat of the store.
        peers: the same of transaction nodes for a compute node, and of compute nodes for a
            transaction node.
        settled: whether the log service is, see `is_settled`.
    """
    limit = HEARD_SECONDS if settled else _UNSETTLED_SECONDS
    return silent > limit and any(peer < silent - _TOGETHER_SECONDS for peer in peers)


def was_silent(pod: Pod) -> bool:
    """Return whether it is recorded that the present process of a Pod was silent."""
    recorded = (pod["metadata"].get("annotations") or {}).get(names.ANNOTATION_UNHEARD)
    return bool(recorded) and recorded == main_process(pod)


def without_heartbeat(
    pods: Iterable[Pod],
    silent: Mapping[str, float],
    uuid_of: Callable[[Pod], str],
    now: float,
) -> dict[str, str]:
    """Return the ready Pods whose store gives no sign of life, and what is wrong with each.

    Args:
        pods: Pods of the set.
        silent: seconds since the last heartbeat that HAKeeper knows of, by UUID of the store.
        uuid_of: the UUID of a Pod's store.
        now: the present, Unix time.
    """
    found = {}
    for pod in pods:
        since = ready_at(pod)
        if since is None or pod["metadata"].get("deletionTimestamp"):
            continue
        seconds = silent.get(uuid_of(pod))
        if seconds is None and since + _REGISTERED_SECONDS <= now:
            found[pod["metadata"]["name"]] = _UNREGISTERED
        elif seconds is not None and seconds > HEARD_SECONDS:
            found[pod["metadata"]["name"]] = _SILENT
    return found


def without_quorum(shards: Iterable[tuple[int, int, int]]) -> str:
    """Return which log shards have lost their quorum; empty if none has.

    Args:
        shards: number, running replicas and all voting replicas of each.
    """
    lost = [
        f"{number} ({running} of {replicas})"
        for number, running, replicas in shards
        if 2 * running <= replicas
    ]
    return f"a quorum of log shard {', '.join(lost)}" if lost else ""
