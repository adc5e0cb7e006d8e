# SPDX-License-Identifier: Apache-2.0
"""TOML of users is refused in time when it would stall whoever parses it, and clearly."""

import time
import tomllib
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import (
    errors,
    toml,
    toml_bounds,
)
from hypothesis import given
from hypothesis import strategies as st

LARGEST = 262_144
"""What the schema accepts as `config`."""


def dots(parts: int, part: str = "a") -> str:
    return ".".join([part] * parts)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{dots(20_000)} = 1", "more than 32 dots"),
        (dots(20_000, '"a"') + " = 1", "more than 32 dots"),
        (f"{dots(20_000, 'a ')} = 1", "more than 32 dots"),
        (f"[{dots(20_000)}]", "more than 32 dots"),
        (f"[[{dots(20_000)}]]", "more than 32 dots"),
        (f"a = {{{dots(20_000)} = 1}}", "more than 32 dots"),
        ("a = '''\n''' # '\n" + dots(20_000) + " = 1", "more than 32 dots"),
        ('a = """\\""""\n' + dots(20_000) + " = 1", "more than 32 dots"),
        ('a = """""""\n' + dots(20_000) + " = 1", "not valid TOML|more than 32 dots"),
        ("a = " + "[" * 3000, "nested deeper than 32"),
        ("a = " + "[" * 3000 + "]" * 3000, "nested deeper than 32"),
        ("a = " + "{a = " * 3000, "nested deeper than 32"),
        ("a = " + "1" * 5000, "number has more than 128"),
        ("a = -" + "1" * 5000, "number has more than 128"),
        ("a = 0x" + "1" * 100_000, "number has more than 128"),
        ("a = 1." + "1" * 100_000, "number has more than 128"),
        (f"[{dots(30)}]\n{dots(30)} = 1", "nested deeper than 32"),
        ("a = " + f"{{{dots(30)} = " * 30 + "1" + "}" * 30, "nested deeper than 32"),
        ("a = 2020-99-99", "not valid TOML"),
        ("a = 1\na = 2", "not valid TOML"),
        ('a = "' + "x" * 200_000, "not valid TOML"),
        ("[" + "k" * 100_000 + "]\n[" + "k" * 100_000 + "]", "not valid TOML: Cannot declare"),
    ],
)
def test_hostile_texts_are_refused_at_once(text: str, why: str) -> None:
    assert len(text) <= LARGEST
    begun = time.monotonic()
    with pytest.raises(errors.InvalidSpec, match=why) as caught:
        toml.parse(text, "spec.config")
    assert time.monotonic() - begun < 2
    assert caught.value.field_path == "spec.config"
    assert len(str(caught.value)) < 320


def test_a_deep_object_is_refused() -> None:
    value: dict[str, Any] = {}
    for _ in range(2000):
        value = {"a": value}
    with pytest.raises(errors.InvalidSpec, match="nested deeper than 32"):
        toml.parse(value, "spec.config")


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"{dots(32)} = 1",
        "a = " + "[" * 32 + "]" * 32,
        "".join(f"[a.b{number}]\nc.d = 1.5\n" for number in range(500)),
        "a = [" + "1.5, " * 1000 + "]",
        f"a = '{dots(5000)}' # {dots(5000)} [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        'a = """' + "[" * 100 + '"""\nb = "' + "1" * 5000 + '"',
        f"a-{'1' * 200} = 1",
        "a = 0b" + "1" * 63,
        'a = "\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["',
    ],
)
def test_what_is_within_the_bounds_is_read(text: str) -> None:
    assert toml.parse(text, "spec.config") == tomllib.loads(text)


def test_a_large_number_of_an_object_is_refused_without_its_digits() -> None:
    with pytest.raises(errors.TomlError, match="a: a number does not fit") as caught:
        toml.dump({"a": 1 << 100_000})
    assert len(str(caught.value)) < 100


ALPHABET = "a.\"'#\\\n[]{}=, 1+-_s"


@given(st.text(ALPHABET, max_size=60))
def test_every_text_is_read_or_refused(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(errors.InvalidSpec):
            toml.parse(text, "spec.config")
    else:
        assert toml.parse(text, "spec.config") == expected


@given(st.text(ALPHABET, max_size=60), st.sampled_from(["", "\n"]))
def test_no_text_before_it_hides_a_long_key(text: str, line: str) -> None:
    """Where the parser would come as far as the key, so does the check."""
    try:
        tomllib.loads(text + line + "\n")
    except tomllib.TOMLDecodeError:
        return
    assert toml_bounds.violated_by_text(f"{text}{line}\n{dots(40)} = 1") is not None


def test_the_path_of_a_value_is_quoted_in_part() -> None:
    with pytest.raises(errors.TomlError, match="has no form in TOML") as caught:
        toml.dump({"k" * 100_000: None})
    assert len(str(caught.value)) < 400
