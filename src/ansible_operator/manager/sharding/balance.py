# SPDX-License-Identifier: Apache-2.0
"""How shards are shared among processes. Pure: every process decides alike from what it sees."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """What a process should do about its number of shards.

    Attributes:
        free: shards to take, in the order in which to try them.
        surplus: how many of its shards to give away.
    """

    free: tuple[int, ...] = ()
    surplus: int = 0


def quota(member: str, members: Collection[str], holders: Mapping[int, str], count: int) -> int:
    """How many shards a process should have.

    Shards are shared equally. What is left over belongs to those that have the most, so that as
    few as possible move.

    Args:
        member: the process, one of the members.
        members: see :func:`share`.
        holders: see there.
        count: of all shards.
    """
    held = Counter(holders.values())
    order = sorted(members, key=lambda one: (-held[one], one))
    each, left = divmod(count, len(order))
    return each + (order.index(member) < left)


def share(member: str, members: Collection[str], holders: Mapping[int, str], count: int) -> Share:
    """What a process should take or give away.

    Args:
        member: the process, one of the members.
        members: identities of all processes that live and do not end.
        holders: who has which shard; one that ends has its shards until it gives them away.
        count: of all shards.
    """
    mine = sum(holder == member for holder in holders.values())
    missing = quota(member, members, holders, count) - mine
    if missing <= 0:
        return Share(surplus=-missing)
    free = [number for number in range(count) if number not in holders]
    # Processes that start together begin at different places, to get in each other's way less.
    start = len(free) * sorted(members).index(member) // len(members)
    return Share(free=tuple((free[start:] + free[:start])[:missing]))
