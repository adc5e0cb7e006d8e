# SPDX-License-Identifier: Apache-2.0
"""Whatever a log service, a compute node or a database answers: an answer, or a typed error.

The points of the fault harness, more of them at a time; `faults/methods/answers.py` says what must
hold.
"""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import sql
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.methods import answers
from faults.peers import sql as statements
from faults.peers.database import QUESTIONS, framed
from faults.peers.serving import serving

FUZZ = settings(deadline=None, derandomize=True, max_examples=250)
SEEDS = st.integers(0, 10**6)
MOST_CUTS = 60


@FUZZ
@given(
    st.sampled_from(sorted(QUESTIONS)),
    st.sampled_from([answers.DAMAGED, answers.ODD, answers.ODD, answers.AMONG]),
    SEEDS,
)
def test_an_answer_of_a_service_is_right_or_an_error(name: str, way: str, seed: int) -> None:
    answers.ask_database(name, way, seed)


@FUZZ
@given(st.sampled_from([answers.DAMAGED, answers.ODD, answers.ODD]), SEEDS)
def test_an_answer_in_sql_is_right_or_an_error(way: str, seed: int) -> None:
    answers.ask_sql(way, seed)


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_of_a_service_that_ends_too_early_is_none(name: str) -> None:
    length = max(len(framed(call.body(1))) for call in QUESTIONS[name].calls)
    for end in range(0, length, max(1, length // MOST_CUTS)):
        answers.ask_database(name, answers.CUT, end)


def test_an_answer_in_sql_that_ends_too_early_is_none() -> None:
    for end in range(statements.length(statements.conversation([("a", "b")]))):
        answers.ask_sql(answers.CUT, end)


@pytest.mark.parametrize(
    ("question", "is_result"),
    [
        ("SELECT a", True),
        ("show snapshots", True),
        ("\n (select 1)", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("CREATE SNAPSHOT a FOR CLUSTER", False),
    ],
)
def test_a_question_that_is_only_accepted_is_not_answered_with_no_rows(
    question: str, *, is_result: bool
) -> None:
    """No snapshots, no tables, no rows: that has to be said, or all of them are gone."""
    accepts = statements.conversation([("a",)])
    accepts.replies[statements.ANSWER] = [statements.OK]
    with serving(accepts.handle) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.rpartition(":")[2]), "dump", "x")
        if not is_result:
            assert sql.ask(entrance, (question, ()), 5) == []
            return
        with pytest.raises(sql.SqlError, match="does not speak") as caught:
            sql.ask(entrance, (question, ()), 5)
    assert not caught.value.refused


def test_a_row_that_is_too_short_is_no_row() -> None:
    short = statements.conversation([("a", "b")])
    short.replies[statements.ANSWER][-2] = b"\x01a"
    with serving(short.handle) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.rpartition(":")[2]), "dump", "x")
        with pytest.raises(sql.SqlError, match="does not speak"):
            sql.ask(entrance, ("SELECT a, b", ()), 5)


def test_a_number_that_is_none_is_an_error() -> None:
    odd = statements.conversation([("a", "b")])
    odd.replies[statements.ANSWER][1] = statements.column("a", kind=246)
    with serving(odd.handle) as address:
        entrance = sql.Entrance("127.0.0.1", int(address.rpartition(":")[2]), "dump", "x")
        with pytest.raises(sql.SqlError, match="does not speak"):
            sql.ask(entrance, ("SELECT a, b", ()), 5)
