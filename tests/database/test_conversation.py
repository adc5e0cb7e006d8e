# SPDX-License-Identifier: Apache-2.0
"""Which database is created, left alone and dropped: a table, and a history in any order."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database.conversation import (
    Outcome,
    drop,
    keep,
    mark,
)
from hypothesis import given
from hypothesis import strategies as st

from .worlds import NAME, UID, Catalog, known

OTHER = "0f9e7b5c-9999-4888-8777-666655554444"
CREATED = f"create database `{NAME}` /* matrixorigin.io/database: {UID} */"
BY_HAND = f"create database {NAME}"
OF_ANOTHER = f"create database `{NAME}` {mark(OTHER)}"
FOREIGN = {"by hand": BY_HAND, "unknown": "", "like a mark": f"{BY_HAND} /* matrixorigin.io/ */"}


def catalog(text: str | None) -> Catalog:
    """Return a catalog with the database shop, which a statement has created."""
    made = Catalog()
    if text is not None:
        made.create(NAME, text)
    return made


def test_one_that_was_never_there_is_created_once() -> None:
    made = catalog(None)
    first = made.talk(keep(known()))
    assert first == Outcome(number=made.number(), created=True)
    assert made.talk(keep(known())) == Outcome(number=made.number())  # the status was not written
    assert made.said == [CREATED]


@pytest.mark.parametrize("text", [CREATED, OF_ANOTHER], ids=["of this", "of another"])
def test_one_that_was_created_for_a_resource_is_taken_over(text: str) -> None:
    made = catalog(text)
    assert made.talk(keep(known())) == Outcome(number=made.number())
    assert made.said == []


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("adopts", [False, True])
def test_one_of_somebody_else_is_taken_over_on_demand(text: str, adopts: bool) -> None:
    made = catalog(text)
    found = made.talk(keep(known(adopts=adopts)))
    assert found == Outcome(number=made.number(), taken=not adopts)
    assert made.talk(keep(known(made.number()))) == Outcome(number=made.number())
    assert made.said == []


@pytest.mark.parametrize("adopts", [False, True])
def test_one_that_was_lost_is_not_replaced(adopts: bool) -> None:
    made = catalog(None)
    assert made.talk(keep(known("272513", adopts=adopts))) == Outcome(lost=True)
    assert made.said == []


@pytest.mark.parametrize(
    ("text", "seen", "is_dropped"),
    [
        (CREATED, True, True),
        (CREATED, False, True),
        (OF_ANOTHER, True, True),
        (OF_ANOTHER, False, False),
        (BY_HAND, True, True),
        (BY_HAND, False, False),
        ("", False, False),
    ],
)
def test_one_is_dropped_if_it_is_known_to_be_the_same(
    text: str, seen: bool, is_dropped: bool
) -> None:
    made = catalog(text)
    number = made.number()
    found = made.talk(drop(known(number if seen else "1")))
    assert (found.dropped, found.taken) == (is_dropped, not is_dropped)
    assert made.said == ([f"drop database `{NAME}`"] if is_dropped else [])


def test_one_that_is_gone_needs_no_drop() -> None:
    made = catalog(None)
    assert made.talk(drop(known("272513"))) == Outcome()
    assert made.said == []


@pytest.mark.parametrize("uid", ["", "*/ drop", "a`b", "a" * 65, "%s"])
def test_a_uid_cannot_end_the_comment(uid: str) -> None:
    with pytest.raises(ValueError, match="no uid has"):
        mark(uid)


@given(st.data())
def test_no_history_drops_or_hides_what_is_of_somebody_else(data: Any) -> None:
    """Passes of a resource, in any order with what others do; a pass may die before its status."""
    made, number, theirs = Catalog(), "", set()
    for step in data.draw(
        st.lists(st.sampled_from(["pass", "by hand", "lost", "end"]), max_size=8)
    ):
        there = made.number()
        if step == "by hand" and not there:
            theirs.add(made.create(NAME, BY_HAND))
        elif step == "lost" and there:
            del made.databases[NAME]
        elif step == "pass":
            found = made.talk(keep(known(number)))
            assert not (found.created and number)
            if not found.taken and data.draw(st.booleans()):
                number = found.number or number
        elif step == "end":
            found = made.talk(drop(known(number)))
            assert not (found.dropped and there in theirs)
            break
