# SPDX-License-Identifier: Apache-2.0
"""The log shards as the status of a LogSet reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api.types import Resource
from .view import Shard


@dataclass(frozen=True, slots=True)
class ShardCount:
    """How many replicas of a log shard run.

    Attributes:
        number: of the log shard.
        replicas: how many it should have.
        available: how many run.
    """

    number: int
    replicas: int
    available: int

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> ShardCount:
        """Return it from an entry of a status, or of a task's result."""
        return cls(entry["shard"], entry["replicas"], entry["available"])

    def as_field(self) -> dict[str, int]:
        """Return it as an entry of a status, and of a task's result."""
        return {"shard": self.number, "replicas": self.replicas, "available": self.available}


def counted(shards: Iterable[Shard]) -> list[ShardCount]:
    """Return how many replicas of log shards run, as HAKeeper has them."""
    return [
        ShardCount(shard.number, max(len(shard.members), shard.desired or 0), len(shard.alive))
        for shard in shards
    ]


def reported_shards(resource: Resource) -> list[ShardCount]:
    """Return the log shards that the status of a LogSet lists."""
    return [ShardCount.read(entry) for entry in (resource.get("status") or {}).get("shards") or []]


def lacking(shards: Iterable[ShardCount] | None) -> str:
    """Return which log shards have fewer running replicas than they should; empty if none.

    Args:
        shards: the log shards; None where they are unknown.
    """
    short = [
        f"{shard.number} ({shard.available} of {shard.replicas})"
        for shard in shards or ()
        if shard.available < shard.replicas
    ]
    return f"replicas run of log shard {', '.join(short)}" if short else ""


def lists_none(shards: Iterable[ShardCount]) -> bool:
    """Return whether none of the log shards is the database's: it has just begun.

    HAKeeper founds that shard for the first transaction node, later than its own, 0.
    """
    return not any(shard.number for shard in shards)


def known_shards(
    resource: Resource, answered: Sequence[ShardCount] | None, *, asked: bool, serves: bool
) -> list[ShardCount] | None:
    """Return what is known of the log shards; None if nothing is.

    What was known stays while the set serves and nobody had to ask. Otherwise a shard is only
    reported as HAKeeper has it now: others go by it (gates), and would take a dead log service for
    one that has its quorum. A HAKeeper that has just begun lists none: then none is known, its own
    one exists.

    Args:
        resource: the LogSet, with its status so far.
        answered: what HAKeeper answered; None when it did not.
        asked: whether it was asked.
        serves: whether the set is reported to be Ready.
    """
    if asked:
        return list(answered) if answered else None
    stopped = not (resource.get("spec") or {}).get("replicas")
    known = (resource.get("status") or {}).get("shards") is not None
    return reported_shards(resource) if known and serves and not stopped else None


def shard_replicas(resource: Resource, *, rendered: bool) -> int | None:
    """Return how many replicas a log shard was founded with, as far as it is known.

    Args:
        resource: the LogSet.
        rendered: whether its objects could be rendered, so that it is being founded now.
    """
    spec = resource.get("spec") or {}
    given = (spec.get("initialConfig") or {}).get("logShardReplicas")
    kept = (resource.get("status") or {}).get("logShardReplicas") or given
    if kept:
        return int(kept)
    if not rendered:
        return None
    return 3 if int(spec.get("replicas") or 0) >= 3 else 1
