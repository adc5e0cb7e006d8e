# SPDX-License-Identifier: Apache-2.0
"""Scalars of watches files: what ``sigs.k8s.io/yaml`` 1.6.0 makes of the same text."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.errors import ConfigError
from ansible_operator.watches import scalars
from ansible_operator.watches.document import as_json, parse

_TABLE = Path(__file__).with_name("scalar_vectors.tsv")
VECTORS = [tuple(line.split("\t")) for line in _TABLE.read_text().splitlines()]


@pytest.mark.parametrize(("written", "expected"), VECTORS)
def test_vectors(written: str, expected: str) -> None:
    """A value of YAML, and its JSON; ``1`` and ``1.0`` are two different texts in a template."""
    text = f"- v: {written}\n"
    if expected == "error":
        with pytest.raises(ConfigError, match="error converting YAML to JSON"):
            as_json(parse(text))
    else:
        (entry,) = as_json(parse(text))
        assert repr(entry["v"]) == repr(json.loads(expected))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (0.1, "0.1"),
        (100000.5, "100000.5"),
        (1000000.0, "1e+06"),
        (12345678.0, "1.2345678e+07"),
        (123456789.5, "1.2345679e+08"),
        (16777217.0, "1.6777216e+07"),
        (1e21, "1e+21"),
        (1e300, "+Inf"),
        (-1e300, "-Inf"),
        (1.5e-9, "1.5e-09"),
        (0.00001, "1e-05"),
        (1e-45, "1e-45"),
        (1e-46, "0"),
        (0.0, "0"),
        (-0.0, "-0"),
        (-1.5, "-1.5"),
        (float("nan"), "NaN"),
        (True, "true"),
        (10**18, "1000000000000000000"),
    ],
)
def test_numbers_where_a_text_is_expected(value: float, text: str) -> None:
    """What the Go runner has in the role of ``role: 1.0``."""
    assert scalars.as_text(value) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("!unsafe 'a {{ b }}'", "a {{ b }}"),
        (
            "!vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      6162\n",
            "$ANSIBLE_VAULT;1.1;AES256\n6162\n",
        ),
        ("!unsafe [1, {a: !vault x}]", [1, {"a": "x"}]),
        ("!my!tag 08", "08"),
    ],
)
def test_tags_of_ansible_do_not_count(value: str, expected: object) -> None:
    text = f"%TAG !my! tag:example.com,2026:\n---\n- v: {value}\n"
    assert parse(text) == [{"v": expected}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- a: b\n- [", "yaml: line 2: "),
        ("- a: !!int x", "yaml: line 1: cannot decode !!str `x` as a !!int"),
        ("- a: b\n- {c: !!binary x}", "yaml: line 2: !!binary value contains invalid base64 data"),
        ("- a: b\n  ~: c", "yaml: line 1: unsupported map key: null"),
        ("- a: *b", "yaml: line 1: "),
        ("- a: b\n   c: d", "yaml: line 2: mapping values are not allowed"),
    ],
)
def test_errors_have_lines_and_one_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"error converting YAML to JSON: {problem}")
    assert "unicode string" not in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="0123456789+-._eExXobBO", min_size=1, max_size=12))
def test_any_scalar_is_a_number_or_its_text(text: str) -> None:
    value = scalars.plain(text)
    assert isinstance(value, int | float) or value == text
