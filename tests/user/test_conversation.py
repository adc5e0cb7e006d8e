# SPDX-License-Identifier: Apache-2.0
"""What is said to a database about a user: no more than what differs, and nothing unquoted.

What the statements do, tests/e2e/test_database_users.py shows of a real database.
"""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user import conversation
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.conversation import (
    Held,
    held_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.privileges import (
    LEVELS,
    Grant,
    Level,
    Place,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.spec import UserSpec
from hypothesis import given
from hypothesis import strategies as st

from .worlds import Database, grant, keep, plain, spec_of, user

ROLE = "matrixorigin_user_shop"
CONNECT = grant("*.*", "connect")
READS = ("shop.*", ["Select"])


def ours(*held: Held, places: tuple[str, ...] = ("shop.*",)) -> Database:
    """Return a database where the user is as it was created, with further privileges."""
    database = Database(*places, user="shop", default=ROLE)
    database.roles |= {ROLE}
    database.members |= {ROLE}
    database.held = plain(CONNECT) | set(held)
    return database


def test_a_user_is_created_with_its_role_as_the_default_one():
    database = Database("shop.*", "shop.t")
    outcome = keep(database, spec_of(READS, ("shop.t", ["Delete"]), ("*.*", ["CreateDatabase"])))

    assert database.said == [
        f"create role `{ROLE}`",
        f"grant connect on account * to `{ROLE}`",
        f"grant create database on account * to `{ROLE}`",
        f"grant select on table `shop`.* to `{ROLE}`",
        f"grant delete on table `shop`.`t` to `{ROLE}`",
        f"create user `shop` identified by %s default role `{ROLE}`",
    ]
    assert database.passwords == ["p"]
    assert (outcome.created, outcome.taken, outcome.missing) == (True, False, frozenset())


def test_nothing_is_said_where_all_is_as_desired():
    database = ours(*plain(grant("shop.*", "select")))
    outcome = keep(database, spec_of(READS), fits=True)

    assert database.said == []
    assert outcome.changes == 0
    assert outcome.granted == {CONNECT, grant("shop.*", "select")}


DRIFT = [
    (Held(grant("shop.*", "update"), "d.*"), "revoke update on table `shop`.* from"),
    (Held(grant("shop.t", "update"), "d.t"), "revoke update on table `shop`.`t` from"),
    (Held(grant("*.*", "update"), "*.*"), "revoke update on table *.* from"),
    (Held(grant("*.*", "drop table"), "*"), "revoke drop table on database * from"),
    (Held(grant("*.*", "drop table"), "*.*"), "revoke drop table on database *.* from"),
    (Held(grant("*.*", "drop database"), "*"), "revoke drop database on account * from"),
    (
        Held(Grant(Place("shop"), Level.DATABASE, "database all"), "d"),
        "revoke all on database `shop` from",
    ),
    (Held(Grant(Place("shop"), Level.TABLE, "table all"), "d.*"), "revoke all on table `shop`.*"),
    (
        Held(Grant(Place("shop"), Level.TABLE, "table ownership"), "d.*"),
        "revoke ownership on table `shop`.* from",
    ),
    (Held(Grant(Place(), Level.ACCOUNT, "account all"), "*"), "revoke all on account * from"),
]


@pytest.mark.parametrize(("held", "said"), DRIFT, ids=[said for _held, said in DRIFT])
def test_what_somebody_else_has_granted_is_revoked(held: Held, said: str) -> None:
    database = ours(*plain(grant("shop.*", "select")), held)
    keep(database, spec_of(READS), fits=True)
    assert len(database.said) == 1
    assert database.said[0].startswith(said)


@pytest.mark.parametrize(
    ("held", "on"),
    [
        (Held(grant("shop.*", "update"), "*"), "table *"),
        (Held(grant("shop.t", "update"), "t"), "table `t`"),
    ],
    ids=["of the present database", "a table of the present database"],
)
def test_what_was_granted_on_the_present_database_is_revoked_there(held: Held, on: str) -> None:
    database = ours(held)
    keep(database, spec_of(), fits=True)
    assert database.said == ["use `shop`", f"revoke update on {on} from `{ROLE}`"]


def test_a_privilege_that_can_be_passed_on_is_granted_again_without_that():
    database = ours(Held(grant("shop.*", "select"), "d.*", with_option=True))
    keep(database, spec_of(READS), fits=True)
    assert [one.split()[0] for one in database.said] == ["revoke", "grant"]


@pytest.mark.parametrize(
    "own",
    [
        Held(Grant(Place("mine"), Level.DATABASE, "database ownership"), "d"),
        Held(Grant(Place("shop", "t"), Level.TABLE, "table ownership"), "d.t"),
    ],
    ids=["a database", "a table"],
)
def test_what_the_user_has_created_stays_its_own(own: Held) -> None:
    database = ours(own)
    keep(database, spec_of(), fits=True)
    assert database.said == []


def test_what_is_not_there_is_waited_for_and_the_rest_is_granted():
    database = Database("shop.*")
    outcome = keep(database, spec_of(READS, ("later.*", ["Select"]), ("shop.t", ["Select"])))
    assert outcome.missing == {Place("later"), Place("shop", "t")}
    assert outcome.granted == {CONNECT, grant("shop.*", "select")}
    assert not any("later" in one or "`t`" in one for one in database.said)


def test_a_user_of_somebody_else_is_left_alone():
    database = Database("shop.*", user="shop")
    outcome = keep(database, spec_of(READS))
    assert outcome.taken
    assert database.said == []


def test_a_user_is_adopted_with_its_other_roles_and_never_left_dropped():
    """`set default role` does nothing, so it is created anew; a password is tried before."""
    database = Database(user="shop")
    database.members |= {"reports", "moadmin"}
    outcome = keep(database, spec_of(adopt=True), "new")
    assert not outcome.taken
    assert database.said[2:] == [
        "alter user `shop` identified by %s",
        "drop user `shop`",
        f"create user `shop` identified by %s default role `{ROLE}`",
        "grant `moadmin` to `shop`",
        "grant `reports` to `shop`",
    ]
    assert database.passwords == ["new", "new"]


@pytest.mark.parametrize(
    ("fits", "said"),
    [(True, []), (False, ["alter user `shop` identified by %s"])],
    ids=["it fits", "it does not"],
)
def test_a_password_is_set_where_it_does_not_fit(fits: bool, said: list[str]) -> None:
    database = ours()
    keep(database, spec_of(), fits=fits)
    assert database.said == said


def test_a_lost_role_of_the_user_is_granted_again():
    database = ours()
    database.members.remove(ROLE)
    database.members.add("other")
    keep(database, spec_of(), fits=True)
    assert database.said == [f"grant `{ROLE}` to `shop`"]


@pytest.mark.parametrize(
    ("database", "said"),
    [
        (ours(), ["drop user if exists `shop`", f"drop role if exists `{ROLE}`"]),
        (Database(user="shop"), []),
        (Database(), []),
    ],
    ids=["ours", "somebody else's", "nobody"],
)
def test_only_a_user_of_ours_is_dropped(database: Database, said: list[str]) -> None:
    assert database.talk(conversation.drop(spec_of())) is bool(said)
    assert database.said == said


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (("table", 9, "select", "d.*", "false", None, None, None), None),
        (("table", 9, "select", "d.t", "false", "shop", None, None), None),
        (("function", 0, "execute", "*", "false", None, None, None), None),
        (
            ("table", 9, "select", "d.t", "true", None, "shop", "t"),
            Held(grant("shop.t", "select"), "d.t", with_option=True),
        ),
        (("account", 0, "connect", "*", 0, None, None, None), Held(CONNECT, "*")),
    ],
    ids=["a database is gone", "a table is gone", "another level", "a table", "an account"],
)
def test_rows_are_read(row: tuple[Any, ...], found: Held | None) -> None:
    assert held_of(row) == found


_WORDS = sorted(LEVELS)
_TABLE_WORDS = [word for word in _WORDS if LEVELS[word] is Level.TABLE]
_DATABASE_WORDS = [word for word in _WORDS if LEVELS[word] is not Level.ACCOUNT]
_ENTRIES = st.one_of(
    st.tuples(st.just("*.*"), st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4)),
    st.tuples(
        st.sampled_from(["a.*", "b.*"]),
        st.lists(st.sampled_from(_DATABASE_WORDS), min_size=1, max_size=4),
    ),
    st.tuples(st.just("a.t"), st.lists(st.sampled_from(_TABLE_WORDS), min_size=1, max_size=4)),
)


@given(wanted=st.lists(_ENTRIES, max_size=4), had=st.lists(_ENTRIES, max_size=4))
def test_from_any_privileges_to_any_others_exactly_the_difference_is_said(wanted, had):
    spec, before = spec_of(*wanted), spec_of(*had)
    database = ours(*plain(*before.grants), places=("a.*", "b.*", "a.t"))

    keep(database, spec, fits=True)

    revoked = [one for one in database.said if one.startswith("revoke")]
    granted = [one for one in database.said if one.startswith("grant")]
    assert len(revoked) == len(before.grants - spec.grants)
    assert len(granted) == len(spec.grants - before.grants)
    assert len(database.said) == len(revoked) + len(granted)


def test_passwords_are_values_of_statements_and_not_their_text():
    database = Database(user="shop")
    keep(database, spec_of(adopt=True), "it's `secret`")
    assert not any("secret" in text for text in database.said)
    assert "secret" not in repr(conversation.Password("secret"))


def test_the_role_of_a_name_with_a_hyphen_needs_no_quotes():
    """MatrixOne writes it without, when the user creates a table; no other user's is the same."""
    assert UserSpec.of(user(name="my-shop")).role == "matrixorigin_user_my$shop"
    assert UserSpec.of(user("my-shop", name="my_shop")).role == "matrixorigin_user_my_shop"
