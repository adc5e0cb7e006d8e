# SPDX-License-Identifier: Apache-2.0
"""Which backups go: tables, and what must hold of every policy and every set of backups."""

from dataclasses import replace
from datetime import UTC, timedelta

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.cron import (
    find_zone,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.chains import whole
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.schedule.retention import (
    Policy,
    expired,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.backup.links import START, link

DAYS = [link(f"d{day:02}", day) for day in range(60)]
"""A full backup each noon, from Thursday, 1 January 2026, to Sunday, 1 March."""
CHAINS = [link(f"d{day:02}", day, base=f"d{day - 1:02}" if day % 7 else "") for day in range(21)]


def kept(links, now=60, **policy):
    gone = expired(links, Policy(**policy), START + timedelta(days=now), UTC)
    return sorted({one.name for one in links} - set(gone))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, [one.name for one in DAYS]),
        ({"last": 3}, ["d57", "d58", "d59"]),
        ({"daily": 2}, ["d58", "d59"]),
        ({"weekly": 3}, ["d45", "d52", "d59"]),
        ({"monthly": 3}, ["d30", "d58", "d59"]),
        ({"monthly": 12}, ["d30", "d58", "d59"]),
        ({"last": 1, "weekly": 2, "monthly": 2}, ["d52", "d58", "d59"]),
        ({"max_age": timedelta(days=2)}, ["d58", "d59"]),
        ({"max_age": timedelta(hours=1)}, ["d59"]),
        ({"last": 5, "max_age": timedelta(days=2)}, ["d58", "d59"]),
        ({"last": 1, "max_age": timedelta(days=20)}, ["d59"]),
    ],
)
def test_what_stays(policy, expected):
    assert kept(DAYS, **policy) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"last": 1}, [f"d{day}" for day in range(14, 21)]),
        ({"last": 7}, [f"d{day}" for day in range(14, 21)]),
        ({"last": 8}, [f"d{day:02}" for day in range(7, 21)]),
        ({"monthly": 1}, [f"d{day}" for day in range(14, 21)]),
    ],
)
def test_bases_of_what_stays_stay(policy, expected):
    assert kept(CHAINS, 21, **policy) == expected


def test_a_base_in_the_middle_stays_without_what_follows_it():
    assert kept(CHAINS, 21, weekly=3) == [
        "d07",
        "d08",
        "d09",
        "d10",
        *(f"d{day}" for day in range(14, 21)),
    ]


def test_what_builds_on_others_goes_first():
    gone = expired(CHAINS, Policy(last=1), START, UTC)
    assert gone == sorted(gone, reverse=True)


def test_a_pinned_one_stays_with_its_bases():
    links = [replace(one, pinned=one.name == "d02") for one in CHAINS]
    assert kept(links, 21, last=1)[:3] == ["d00", "d01", "d02"]


def test_nothing_goes_while_none_can_be_restored():
    links = [replace(one, good=False) for one in DAYS]
    assert expired(links, Policy(last=1, max_age=timedelta(1)), START, UTC) == []


def test_a_broken_one_takes_no_place_and_goes_after_newer_good_ones():
    links = [replace(one, good=one.name != "d58") for one in DAYS]
    assert kept(links, last=2) == ["d57", "d58", "d59"]
    assert kept(links, last=1) == ["d59"]
    assert kept(links, max_age=timedelta(days=3)) == ["d57", "d58", "d59"]
    newest = [replace(one, good=one.name != "d59") for one in DAYS]
    assert kept(newest, last=1) == ["d58", "d59"]


def test_nothing_goes_while_it_is_not_known_of_one_how_it_is():
    for number in range(len(DAYS)):
        links = list(DAYS)
        links[number] = replace(links[number], good=False, known=False)
        assert expired(links, Policy(last=1, max_age=timedelta(1)), START, UTC) == []


def test_each_database_keeps_its_own():
    links = [replace(one, source="old" if day < 50 else "new") for day, one in enumerate(DAYS)]
    assert kept(links, last=2) == ["d48", "d49", "d58", "d59"]
    assert kept(links, max_age=timedelta(days=5)) == ["d49", "d55", "d56", "d57", "d58", "d59"]
    broken = [replace(one, good=one.source == "new") for one in links]
    assert kept(broken, last=1) == [*(f"d{day:02}" for day in range(50)), "d59"]


def test_what_is_in_use_stays_with_its_bases():
    gone = expired(CHAINS, Policy(last=1), START, UTC, in_use={"d02"})
    assert sorted({one.name for one in CHAINS} - set(gone))[:3] == ["d00", "d01", "d02"]


@pytest.mark.parametrize("base", ["", "d01"])
def test_the_bases_of_both_stay_where_two_backups_have_one_id(base):
    """One of them was applied again with another base, and either may be what is in use."""
    twin = replace(link("twin", 5, base=base), id="d03")
    links = [DAYS[0], DAYS[1], link("d03", 3, base="d00"), DAYS[4], twin, DAYS[6]]
    gone = expired(links, Policy(last=1), START, UTC, in_use={"d03"})
    assert set(gone) == {"d04", *({"d01"} - {base})}


def test_days_are_those_of_the_time_zone():
    late, early = link("late", 0), link("early", 0)
    late = replace(late, at=late.at + timedelta(hours=11, minutes=30))
    early = replace(early, at=late.at + timedelta(hours=1))
    assert expired([late, early], Policy(daily=2), START, UTC) == []
    assert expired([late, early], Policy(daily=2), START, find_zone("America/New_York")) == ["late"]


NAMES = [f"b{number:02}" for number in range(14)]
ONE = st.tuples(st.integers(0, 400), st.booleans(), st.booleans(), st.sampled_from(["", *NAMES]))
SETS = st.lists(ONE, min_size=1, max_size=14).map(
    lambda found: [
        replace(
            link(NAMES[number], 0, base=base, good=good, pinned=pinned and number % 5 == 0),
            at=START + timedelta(hours=hours),
        )
        for number, (hours, good, pinned, base) in enumerate(found)
    ]
)
AGES = st.one_of(st.none(), st.integers(0, 400).map(lambda hours: timedelta(hours=hours)))
POLICIES = st.builds(
    Policy,
    last=st.integers(0, 5),
    daily=st.integers(0, 5),
    weekly=st.integers(0, 3),
    monthly=st.integers(0, 3),
    max_age=AGES,
)
NOW = START + timedelta(hours=400)


@given(SETS, POLICIES)
def test_the_last_good_one_stays_and_so_do_the_bases_of_all_that_stay(links, policy):
    gone = set(expired(links, policy, NOW, UTC))
    stays = [one for one in links if one.name not in gone]
    by_id = {one.id: one for one in links}
    assert not any(one.base in gone for one in stays if one.base in by_id)
    if restorable := whole(links):
        assert restorable[0].name not in gone
        assert whole(stays)[0] == restorable[0]
    else:
        assert not gone


@given(SETS, POLICIES)
def test_a_second_pass_deletes_no_more(links, policy):
    gone = set(expired(links, policy, NOW, UTC))
    stays = [one for one in links if one.name not in gone]
    assert expired(stays, policy, NOW, UTC) == []


@given(SETS, POLICIES)
def test_a_deletion_that_stops_halfway_leaves_no_chain_without_its_base(links, policy):
    gone = expired(links, policy, NOW, UTC)
    known = {one.id for one in links}
    for count in range(len(gone)):
        left = [one for one in links if one.name not in gone[:count]]
        ids = {one.id for one in left}
        torn = [one for one in left if one.base in known - ids and one.at > by(links, one.base).at]
        assert torn == []


def by(links, identity):
    return next(one for one in links if one.id == identity)
