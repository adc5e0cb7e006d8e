# SPDX-License-Identifier: Apache-2.0
"""Copies of variables, under every release of ansible-core."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.utils.unsafe_proxy import wrap_var

from ansible_operator.engine.patches.copies import deep_copy

FILE = "{texts: [a, '{{ b }}', ''], nested: {list: [{of: 1.5}], nothing: null}, day: 2026-01-01}"


@pytest.fixture
def variables() -> dict[str, Any]:
    """What variables consist of: of a file, of a result, of plugins."""
    twice = [True]
    return {
        "file": DataLoader().load(FILE),
        "result": wrap_var({"lines": ["{{ c }}", "d"], "rc": 0}),
        "plugins": {"tuple": (1, [2]), "set": {3}, "bytes": b"4", "twice": [twice, twice]},
    }


def parts(value: Any) -> Iterator[Any]:
    """A value and everything in it, in order."""
    yield value
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from parts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from parts(item)


def test_a_deep_copy_is_like_that_of_python(variables: dict[str, Any]) -> None:
    found, expected = list(parts(deep_copy(variables))), list(parts(copy.deepcopy(variables)))

    assert found == expected
    assert [type(part) for part in found] == [type(part) for part in expected]
    assert [vars(part) for part in found if hasattr(part, "__dict__")] == [
        vars(part) for part in expected if hasattr(part, "__dict__")
    ]


def test_a_deep_copy_shares_nothing_that_can_be_changed(variables: dict[str, Any]) -> None:
    copied = deep_copy(variables)
    changeable = [part for part in parts(copied) if isinstance(part, dict | list | set)]

    assert not {id(part) for part in parts(variables)} & {id(part) for part in changeable}
    assert copied["plugins"]["twice"][0] is copied["plugins"]["twice"][1]
