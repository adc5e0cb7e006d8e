# SPDX-License-Identifier: Apache-2.0
"""Statements about snapshots and recovery ranges: what they say, and that no name ends them early."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.versions import Version
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.snapshot import (
    moments,
    ranges,
    snapshots,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.snapshot.ranges import (
    Length,
    Range,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.snapshot.scopes import (
    Scope,
    account_of,
    record_name,
)
from hypothesis import given
from hypothesis import strategies as st

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = Length(1, "d")
DATABASE, TABLE = Scope("sys", "shop"), Scope("sys", "shop", "orders")
OLD, NEW = Version(3, 0, 18), Version(4, 0, 0)
STATEMENTS: list[tuple[tuple[str, tuple[Any, ...]], str, tuple[Any, ...]]] = [
    (snapshots.creating("s", Scope()), "CREATE SNAPSHOT `s` FOR CLUSTER", ()),
    (snapshots.creating("s", Scope("a1")), "CREATE SNAPSHOT `s` FOR ACCOUNT `a1`", ()),
    (snapshots.dropping("s"), "DROP SNAPSHOT `s`", ()),
    (snapshots.restoring("s", Scope(), OLD), "RESTORE CLUSTER FROM SNAPSHOT `s`", ()),
    (snapshots.restoring("s", Scope("a1"), OLD), "RESTORE ACCOUNT `a1` FROM SNAPSHOT `s`", ()),
    (
        snapshots.restoring("s", DATABASE, OLD),
        "RESTORE ACCOUNT `sys` DATABASE `shop` FROM SNAPSHOT `s`",
        (),
    ),
    (
        snapshots.restoring("s", TABLE, None),
        "RESTORE ACCOUNT `sys` DATABASE `shop` TABLE `orders` FROM SNAPSHOT `s`",
        (),
    ),
    (snapshots.restoring("s", Scope(), NEW), "RESTORE CLUSTER {SNAPSHOT = %s}", ("s",)),
    (snapshots.restoring("s", Scope("a1"), NEW), "RESTORE ACCOUNT `a1` {SNAPSHOT = %s}", ("s",)),
    (
        snapshots.restoring("s", DATABASE, NEW),
        "RESTORE DATABASE `sys`.`shop` {SNAPSHOT = %s}",
        ("s",),
    ),
    (
        snapshots.restoring("s", TABLE, NEW),
        "RESTORE TABLE `sys`.`shop`.`orders` {SNAPSHOT = %s}",
        ("s",),
    ),
    (ranges.creating("p", Scope(), DAY, "sys"), "CREATE PITR `p` FOR CLUSTER RANGE 1 %s", ("d",)),
    (ranges.creating("p", Scope("sys"), DAY, "sys"), "CREATE PITR `p` RANGE 1 %s", ("d",)),
    (
        ranges.creating("p", Scope("a1"), DAY, "sys"),
        "CREATE PITR `p` FOR ACCOUNT `a1` RANGE 1 %s",
        ("d",),
    ),
    (
        ranges.creating("p", TABLE, DAY, "sys"),
        "CREATE PITR `p` FOR DATABASE `shop` TABLE `orders` RANGE 1 %s",
        ("d",),
    ),
    (ranges.changing("p", Length(2, "mo")), "ALTER PITR `p` RANGE 2 %s", ("mo",)),
    (ranges.dropping("p"), "DROP PITR `p`", ()),
    (
        ranges.restoring("p", Scope(), NOON, "sys"),
        "RESTORE CLUSTER FROM PITR `p` %s",
        ("2026-11-23 12:00:00",),
    ),
    (
        ranges.restoring("p", Scope("sys"), NOON, "sys"),
        "RESTORE FROM PITR `p` %s",
        ("2026-11-23 12:00:00",),
    ),
    (
        ranges.restoring("p", Scope("a1"), NOON, "sys"),
        "RESTORE ACCOUNT `a1` FROM PITR `p` %s",
        ("2026-11-23 12:00:00",),
    ),
    (
        ranges.restoring("p", TABLE, NOON, "sys"),
        "RESTORE DATABASE `shop` TABLE `orders` FROM PITR `p` %s",
        ("2026-11-23 12:00:00",),
    ),
]


@pytest.mark.parametrize(
    ("statement", "text", "values"), STATEMENTS, ids=[row[1] for row in STATEMENTS]
)
def test_a_statement_is_the_one_of_the_grammar(
    statement: tuple[str, tuple[Any, ...]], text: str, values: tuple[Any, ...]
) -> None:
    assert statement == (text, values)


ODD = [
    "a`; DROP DATABASE shop; --", "a'b", 'a"b', "a\\", "a b", "a.b", "a%s", "a-b", "", "x" * 65, "a\n",
    "a;b", "a/*b", "a\x00", "a{MO_TS = 1}",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_could_end_a_statement_is_rejected(name: str) -> None:
    with pytest.raises(InvalidSpec):
        record_name(name)
    if not name:
        return
    for made in (lambda: Scope(name), lambda: Scope("sys", name), lambda: Scope("sys", "d", name)):
        with pytest.raises(InvalidSpec):
            made()


@given(st.text())
def test_every_accepted_name_is_one_word_of_a_statement(name: str) -> None:
    """Only letters, digits, _ and $: nothing that any quoting of SQL gives a meaning."""
    for accept in _accepting(name):
        try:
            accept()
        except InvalidSpec:
            continue
        assert all(one.isalnum() or one in "_$" for one in name), name


def _accepting(name: str) -> list[Callable[[], object]]:
    return [lambda: record_name(name), lambda: Scope(name), lambda: Scope("a", name, name)]


@pytest.mark.parametrize("name", ["Upper", "1st", "späť"])
def test_a_snapshot_that_would_not_be_found_again_is_rejected(name: str) -> None:
    with pytest.raises(InvalidSpec, match="name: must be lower-case letters"):
        record_name(name)


@pytest.mark.parametrize(
    ("given_names", "message"),
    [
        (("sys", "", "t"), "database: must be set"),
        (("", "d"), "account: must be set"),
        (("sys", "MO_Catalog"), "database: is one of the system"),
    ],
)
def test_a_scope_that_cannot_be_restored_is_rejected(
    given_names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InvalidSpec, match=message):
        Scope(*given_names)


@pytest.mark.parametrize(
    ("user", "account"),
    [("dump", "sys"), ("a1:admin", "a1"), ("a1:admin:role", "a1"), ("a1#admin", "a1")],
)
def test_the_account_is_the_one_of_the_login(user: str, account: str) -> None:
    assert account_of(user) == account


@pytest.mark.parametrize(
    ("wide", "narrow", "holds"),
    [
        (Scope(), Scope("a", "d", "t"), True),
        (Scope("a"), Scope("A", "d"), True),
        (Scope("a"), Scope("b", "d"), False),
        (Scope("a", "d"), Scope("a"), False),
        (Scope("a", "d"), Scope("a", "d", "t"), True),
        (Scope("a", "d", "t"), Scope("a", "d", "u"), False),
    ],
)
def test_a_scope_holds_what_is_in_it(wide: Scope, narrow: Scope, *, holds: bool) -> None:
    assert wide.holds(narrow) is holds


SHOWN = (
    "week",
    "2026-11-20 08:00:00",
    "2026-11-22 09:30:00",
    "database",
    "sys",
    "shop",
    "*",
    7,
    "d",
)
WEEK = Range(
    "week",
    Scope("sys", "shop"),
    Length(7, "d"),
    datetime(2026, 11, 22, 9, 30, tzinfo=UTC),
)


def test_a_range_is_read_as_the_database_shows_it() -> None:
    of_all = ("all", *SHOWN[1:3], "cluster", "*", "*", "*", 1, "mo")
    assert ranges.found([of_all, SHOWN], "week") == WEEK
    found = ranges.found([of_all, SHOWN], "all")
    assert found
    assert (found.scope, found.document["unit"]) == (Scope(), "months")
    assert ranges.found([SHOWN], "other") is None


@pytest.mark.parametrize(
    ("scope", "moment", "message"),
    [
        (Scope("sys", "shop", "orders"), NOON, ""),
        (Scope("sys"), NOON, "covers database shop of account sys, not account sys"),
        (Scope("sys", "shop"), NOON + timedelta(days=2), "is in the future"),
        (Scope("sys", "shop"), WEEK.since - timedelta(seconds=1), "keeps versions since"),
    ],
)
def test_a_moment_whose_versions_may_be_gone_is_rejected(
    scope: Scope, moment: datetime, message: str
) -> None:
    """The database accepts moments before the range existed, and restores what is left of them."""
    now = NOON + timedelta(days=1)
    said = ranges.problem(WEEK, scope, moment, now)
    assert message in said
    assert bool(said) == bool(message)


def test_a_moment_before_the_length_of_the_range_is_rejected() -> None:
    said = ranges.problem(WEEK, WEEK.scope, WEEK.since, WEEK.since + timedelta(days=7, seconds=1))
    assert "longer ago" in said


@pytest.mark.parametrize("count", [0, -1, 101])
def test_a_length_that_the_database_rejects_is_rejected_before(count: int) -> None:
    with pytest.raises(InvalidSpec, match="keep: must be from 1 to 100"):
        Length.of(count, "days")


@pytest.mark.parametrize("text", ["2026-11-23T10:15:00", "yesterday", "", "2026-11-23"])
def test_a_moment_without_a_zone_is_rejected(text: str) -> None:
    with pytest.raises(InvalidSpec, match="at: must be RFC 3339 with a zone"):
        moments.parsed("at", text)


def test_moments_are_utc() -> None:
    moment = moments.parsed("at", "2026-11-23T13:00:00.9+01:00")
    assert moment == NOON
    assert moments.shown(moment) == "2026-11-23T12:00:00Z"
    assert (
        moments.of_nanoseconds(moments.as_nanoseconds(moment) + 5_000)
        == "2026-11-23T12:00:00.000005Z"
    )
