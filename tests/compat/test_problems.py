# SPDX-License-Identifier: Apache-2.0
"""Problems of runners are observed: on this runner, of which some are as users wish."""

import pytest

from compat.problems.__main__ import main, observed
from compat.problems.checks import (
    CHECKS,
    Check,
    another_port,
    most_at_a_time,
    names_of_keys,
    requeue,
)
from compat.problems.stage import define
from testbed.bed import TestBed


@pytest.mark.parametrize(
    ("begun", "ended", "expected"),
    [
        ([], [], 0),
        ([1.0, 3.0], [2.0, 4.0], 1),
        ([1.0, 2.0], [2.0, 3.0], 1),
        ([1.0, 2.0, 5.0], [4.0, 3.0, 6.0], 2),
        ([1.0, 2.0], [], 2),
    ],
)
def test_plays_at_a_time(begun: list[float], ended: list[float], expected: int) -> None:
    assert most_at_a_time(begun, ended) == expected


def test_problems_have_the_numbers_of_the_page() -> None:
    assert [title.partition(".")[0] for title, _ in CHECKS] == [str(n) for n in range(1, 11)]


def test_the_program_of_the_go_runner_can_be_left_out() -> None:
    assert main.make_context("problems", ["--only=6"]).params == {"go_runner": None, "only": "6"}


@pytest.fixture(scope="module")
def defined(fake_testbed: TestBed) -> TestBed:
    define(fake_testbed)
    return fake_testbed


@pytest.mark.api
@pytest.mark.parametrize("check", [another_port, names_of_keys, requeue])
def test_this_runner_is_observed(defined: TestBed, check: Check) -> None:
    """Those that take seconds; `python -m compat.problems` observes all, and the Go runner."""
    seen = observed(defined, "", check)

    assert seen.is_good, seen.text
