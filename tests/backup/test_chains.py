# SPDX-License-Identifier: Apache-2.0
"""Which backup the next one builds on."""

from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.chains import (
    chain_of,
    choose,
    whole,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import (
    FULL,
    INCREMENTAL,
)

from tests.backup.links import ROOT, chain, link

FULL_AND_TWO = chain("full", "one", "two")


def test_the_first_one_is_full():
    assert choose([], 7, ROOT).type == FULL


def test_the_next_builds_on_the_last_good_one():
    chosen = choose(FULL_AND_TWO, 7, ROOT)
    assert (chosen.type, chosen.base) == (INCREMENTAL, "two")


@pytest.mark.parametrize(
    ("full_every", "expected"), [(1, FULL), (2, FULL), (3, FULL), (4, INCREMENTAL)]
)
def test_every_nth_is_full(full_every, expected):
    assert choose(FULL_AND_TWO, full_every, ROOT).type == expected


def test_a_series_has_a_full_one_every_n():
    links = []
    for number in range(9):
        base = choose(links, 3, ROOT).base
        links.append(link(f"b{number}", number, base=base))
    assert [one.base for one in links] == ["", "b0", "b1", "", "b3", "b4", "", "b6", "b7"]


@pytest.mark.parametrize(
    ("links", "root", "spoiled", "why"),
    [
        (FULL_AND_TWO[1:], ROOT, (), "cannot be built on"),
        ([replace(FULL_AND_TWO[0], good=False), *FULL_AND_TWO[1:]], ROOT, (), "cannot be built on"),
        ([*FULL_AND_TWO[:2], replace(FULL_AND_TWO[2], good=False)], ROOT, (), "cannot be built on"),
        (FULL_AND_TWO, "elsewhere", (), "another source or target"),
        (FULL_AND_TWO, ROOT, ("one",), "building on backup one failed"),
        ([link("a", 1, base="b"), link("b", 2, base="a")], ROOT, (), "cannot be built on"),
    ],
)
def test_a_chain_that_cannot_go_on_begins_again(links, root, spoiled, why):
    chosen = choose(links, 7, root, spoiled=spoiled)
    assert chosen.type == FULL
    assert why in chosen.why


def test_a_ring_is_no_chain():
    ring = [link("a", 1, base="b"), link("b", 2, base="a")]
    assert chain_of(ring[0], {one.id: one for one in ring}) == []
    assert whole(ring) == []


def test_restorable_are_the_good_ones_on_good_ones():
    broken = replace(FULL_AND_TWO[1], good=False)
    other = link("other", 9)
    found = whole([FULL_AND_TWO[0], broken, FULL_AND_TWO[2], other])
    assert [one.name for one in found] == ["other", "full"]
