# SPDX-License-Identifier: Apache-2.0
"""Spec keys to variable names: the vectors of the Go runner."""

from pathlib import Path

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.loop.reconciling.snake_case import snake_case, snake_case_keys

_TABLE = Path(__file__).with_name("snake_case_vectors.tsv")
VECTORS = [tuple(line.split("\t")) for line in _TABLE.read_text().splitlines()]


@pytest.mark.parametrize(("key", "variable"), VECTORS)
def test_vectors(key: str, variable: str) -> None:
    assert snake_case(key) == variable


def test_an_empty_key_stays_empty() -> None:
    assert snake_case("") == ""


@given(st.text())
def test_any_key_has_a_name(key: str) -> None:
    assert isinstance(snake_case(key), str)


def test_keys_are_converted_at_every_depth_and_values_never() -> None:
    spec = {"fooBar": {"bazQux": "camelCase"}, "items": [{"containerPort": 1}, "aB", [{"xY": 2}]]}
    assert snake_case_keys(spec) == {
        "foo_bar": {"baz_qux": "camelCase"},
        "items": [{"container_port": 1}, "aB", [{"xy": 2}]],
    }


def test_of_two_keys_with_one_name_the_last_wins_with_a_warning() -> None:
    with structlog.testing.capture_logs() as lines:
        assert snake_case_keys({"fooBar": 1, "foo_bar": 2}) == {"foo_bar": 2}
    assert [line["variable"] for line in lines] == ["foo_bar"]
