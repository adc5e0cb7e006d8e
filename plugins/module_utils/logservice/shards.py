# SPDX-License-Identifier: Apache-2.0
"""The log shards as the status of a LogSet reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api.types import Resource


def lacking(reported: Mapping[str, Any]) -> str:
    """Return which log shards have fewer running replicas than they should; empty if none.

    Args:
        reported: a status, or a result of the action, with ``shards``.
    """
    short = [
        f"{shard['shard']} ({shard['available']} of {shard['replicas']})"
        for shard in reported.get("shards") or []
        if shard["available"] < shard["replicas"]
    ]
    return f"replicas run of log shard {', '.join(short)}" if short else ""


def known_shards(resource: Resource, stores: Mapping[str, Any], *, serves: bool) -> Any:
    """Return what is known of the log shards; None if nothing is.

    What was known stays while the set serves and nobody had to ask. Otherwise a shard is only
    reported as HAKeeper has it now: others go by it (gates), and would take a dead log service for
    one that has its quorum.

    Args:
        resource: the LogSet, with its status so far.
        stores: what the action on its stores returned.
        serves: whether the set is reported to be Ready.
    """
    if stores.get("asked"):
        return stores["shards"]
    stopped = not (resource.get("spec") or {}).get("replicas")
    return (resource.get("status") or {}).get("shards") if serves and not stopped else None


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
