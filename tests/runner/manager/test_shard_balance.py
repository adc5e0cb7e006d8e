# SPDX-License-Identifier: Apache-2.0
"""How shards are shared: equally, moving as few as possible, whatever processes come and go."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.manager.sharding.balance import Share, share

CASES = {
    "the first takes all": ("a", "a", {}, 4, Share(free=(0, 1, 2, 3))),
    "the second waits for its half": ("b", "ab", dict.fromkeys(range(4), "a"), 4, Share()),
    "the first gives its half": ("a", "ab", dict.fromkeys(range(4), "a"), 4, Share(surplus=2)),
    "the second takes what is free": ("b", "ab", {0: "a", 1: "a"}, 4, Share(free=(3, 2))),
    "what is left over stays": ("a", "ab", {0: "a", 1: "a", 2: "b"}, 3, Share()),
    "and is not wanted by others": ("b", "ab", {0: "a", 1: "a", 2: "b"}, 3, Share()),
    "what is free is shared": ("a", "ac", {2: "c"}, 3, Share(free=(0,))),
    "one that ends counts no more": ("a", "a", {0: "a", 1: "b", 2: "b"}, 4, Share(free=(3,))),
    "more processes than shards": ("c", "abc", {0: "a", 1: "b"}, 2, Share()),
}


@pytest.mark.parametrize(
    ("me", "members", "holders", "count", "expected"), CASES.values(), ids=CASES
)
def test_a_share(
    me: str, members: str, holders: dict[int, str], count: int, expected: Share
) -> None:
    assert share(me, set(members), holders, count) == expected


changes = st.lists(st.tuples(st.sampled_from(["join", "die"]), st.integers(0, 7)), max_size=12)


@given(changes=changes, count=st.integers(2, 24), order=st.randoms(use_true_random=False))
def test_shards_are_shared_equally_and_then_stay(changes, count, order) -> None:
    """Processes that look in any order, some of them at what was there before, come to rest."""
    members = {"m0"}
    holders: dict[int, str] = {}
    for what, number in changes:
        if what == "join":
            members.add(f"m{number}")
        elif len(members) > 1:
            members.discard(f"m{number}")
        _look(members, holders, count, order)  # nobody waits until the shards have come to rest
    for _ in range(4):
        _look(members, holders, count, order)
    held = Counter(dict.fromkeys(members, 0) | Counter(holders.values()))
    assert held.keys() == members
    assert sum(held.values()) == count, "no shard is left alone"
    assert max(held.values()) - min(held.values()) <= 1
    rested = dict(holders)
    _look(members, holders, count, order)
    assert holders == rested


def _look(members, holders, count, order) -> None:
    for number in [number for number, holder in holders.items() if holder not in members]:
        del holders[number]
    stale = dict(holders)
    for member in order.sample(sorted(members), len(members)):
        seen = stale if order.random() < 0.3 else holders
        todo = share(member, members, seen, count)
        # A write needs the version that was seen: a shard that has another holder is not taken.
        for number in todo.free:
            if holders.get(number) == seen.get(number):
                holders[number] = member
        mine = [number for number, holder in holders.items() if holder == member]
        for number in mine[: todo.surplus]:
            del holders[number]
