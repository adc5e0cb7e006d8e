# SPDX-License-Identifier: Apache-2.0
"""Which log store a roll replaces next: one that the log shards can do without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def dispensable(
    candidates: Sequence[str],
    stores: Mapping[str, str],
    lost: Mapping[int, frozenset[str]],
    leaders: Mapping[int, str],
) -> tuple[str, str]:
    """Choose the log store that the shards can do without.

    Args:
        candidates: Pods, the best one first.
        stores: UUID of the store by Pod.
        lost: UUIDs of the stores whose voting replica does not run, by shard.
        leaders: UUID of the store that leads, by shard.

    Returns:
        The Pod, or an empty text and what is being waited for.
    """
    leads = {uuid: list(leaders.values()).count(uuid) for uuid in stores.values()}
    waiting = ""
    for pod in sorted(candidates, key=lambda name: leads.get(stores[name], 0)):
        missing = {
            number: gone - {stores[pod]} for number, gone in lost.items() if gone - {stores[pod]}
        }
        if not missing:
            return pod, ""
        number, gone = min(missing.items())
        by_uuid = {uuid: name for name, uuid in stores.items()}
        named = ", ".join(sorted(by_uuid.get(uuid, uuid) for uuid in gone))
        waiting = f"log shard {number} to have its replica on {named} back"
    return "", waiting
