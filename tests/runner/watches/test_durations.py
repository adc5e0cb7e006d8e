# SPDX-License-Identifier: Apache-2.0
"""Durations in Go's syntax, with Go's words for what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.watches import InvalidDuration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("10h", 36_000),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        (".5m", 30),
        ("250ms", 0.25),
        ("-2m", -120),
        ("+5s", 5),
        ("3us", 3e-6),
        ("1h1m1s1ms", 3661.001),
    ],
)
def test_parses(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("invalid", 'time: invalid duration "invalid"'),
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h 5m", 'time: unknown unit "h " in duration "1h 5m"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
    ],
)
def test_refuses_with_the_words_of_go(text: str, message: str) -> None:
    with pytest.raises(InvalidDuration) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (36_000, "10h0m0s"), (90, "1m30s"), (1.5, "1.5s"), (0.25, "250ms"), (-60, "-1m0s")],
)
def test_prints_as_go_does(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(min_value=0, max_value=10**12))
def test_what_is_printed_is_read_back(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=1e-6)
