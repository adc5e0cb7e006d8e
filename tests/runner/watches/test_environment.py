# SPDX-License-Identifier: Apache-2.0
"""Expansion of variables in watches files, and overrides per kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.errors import ConfigError
from ansible_operator.watches.environment import (
    ansible_verbosity,
    expand,
    max_concurrent_reconciles,
)

ENVIRONMENT = {"SET": "value", "EMPTY": ""}
GROUP, KIND = "cache.example.com", "MemCacheService"
SUFFIX = "MEMCACHESERVICE_CACHE_EXAMPLE_COM"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$SET", "value"),
        ("${SET}", "value"),
        ("a${SET}b$SET", "avaluebvalue"),
        ("[$EMPTY]", "[]"),
        ("$UNSET", "${UNSET}"),
        ("${UNSET}", "${UNSET}"),
        ("p$w0rd", "p${w0rd}"),
        ("${UNSET:-d}", "${UNSET:-d}"),
        ("${", ""),
        ("${}", ""),
        ("x$", "x$"),
        ("^a$\n", "^a$\n"),
        ("{{ x }}$", "{{ x }}$"),
        ("$$", "${$}"),
        ("$1", "${1}"),
        ('"$-x"', '"${-}x"'),
        ("$(POD)", "$(POD)"),
    ],
)
def test_expansion_keeps_every_corner_of_the_contract(text: str, expected: str) -> None:
    assert expand(text, ENVIRONMENT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$$SET", "$SET"), ("$${SET}", "${SET}"), ("$SET$$", "value$"), ("x$", "x$"), ("$()", "$()")],
)
def test_a_dollar_sign_can_be_written_strictly(text: str, expected: str) -> None:
    assert expand(text, ENVIRONMENT, strict=True) == expected


def test_variables_must_be_set_strictly() -> None:
    with pytest.raises(ConfigError, match=r"are not set: UNSET, 1$"):
        expand("$UNSET ${SET} $1 $UNSET", ENVIRONMENT, strict=True)


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_text_without_dollar_signs_is_not_touched(text: str) -> None:
    assert expand(text, ENVIRONMENT) == text


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, 7),
        ({f"WORKER_{SUFFIX}": "0"}, 7),
        ({f"WORKER_{SUFFIX}": "3"}, 3),
        ({f"MAX_CONCURRENT_RECONCILES_{SUFFIX}": "2"}, 2),
        ({f"MAX_CONCURRENT_RECONCILES_{SUFFIX}": "2", f"WORKER_{SUFFIX}": "3"}, 2),
        ({f"MAX_CONCURRENT_RECONCILES_{SUFFIX}": "many"}, 7),
    ],
)
def test_concurrency_per_kind(environment: dict[str, str], expected: int) -> None:
    assert max_concurrent_reconciles(GROUP, KIND, 7, environment) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(None, 2), ("-1", 2), ("8", 2), ("x", 2), ("0", 0), ("3", 3), ("7", 7)]
)
def test_verbosity_per_kind(value: str | None, expected: int) -> None:
    environment = {} if value is None else {f"ANSIBLE_VERBOSITY_{SUFFIX}": value}
    assert ansible_verbosity(GROUP, KIND, 2, environment) == expected


def test_the_core_group_leaves_an_underscore_and_hyphens_stay() -> None:
    assert max_concurrent_reconciles("", "Pod", 1, {"MAX_CONCURRENT_RECONCILES_POD_": "5"}) == 5
    name = "MAX_CONCURRENT_RECONCILES_X_WITH-DASH_EXAMPLE_COM"
    assert max_concurrent_reconciles("with-dash.example.com", "X", 1, {name: "6"}) == 6
