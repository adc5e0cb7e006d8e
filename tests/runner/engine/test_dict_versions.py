# SPDX-License-Identifier: Apache-2.0
"""Every way in which a run may write to variables of modules and classes is noticed."""

import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from ansible_operator.engine.warm.dict_versions import DictVersions, are_counted

only_where_counted = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="CPython counts changes of dicts up to 3.13 (PEP 699)"
)
MODULE = types.ModuleType("module")
exec(  # noqa: S102 (its functions have the module's variables as their own)
    """
number, gone = 1, 1
def assign():
    global number
    number += 1
def drop():
    global gone
    del gone
def look():
    return number
""",
    vars(MODULE),
)


class Plain:
    """A class whose attributes change."""

    number = 1

    @classmethod
    def count(cls) -> None:
        """Assign as methods do."""
        cls.number += 1


def repeated(action: Callable[[], Any]) -> Callable[[], Any]:
    """So often that the interpreter takes its short cuts."""
    return lambda: [action() for _ in range(100)]


def writes(module: types.ModuleType) -> dict[str, Callable[[], Any]]:
    return {
        "a function assigns a variable": module.assign,
        "a function assigns it often": repeated(module.assign),
        "a variable goes": module.drop,
        "from outside": lambda: setattr(module, "number", "text"),
        "a new variable": lambda: setattr(module, "new", 1),
        "its dict is updated": lambda: vars(module).update(number=2),
        "its dict has a default": lambda: vars(module).setdefault("other", 2),
        "a class attribute": lambda: setattr(Plain, "number", Plain.number + 1),
        "a new class attribute": lambda: setattr(Plain, "new", 1),
        "a method assigns a class attribute": Plain.count,
        "a method assigns a class attribute often": repeated(Plain.count),
    }


@only_where_counted
@pytest.mark.parametrize("way", writes(MODULE))
def test_what_is_written_is_noticed_and_nothing_else(way: str) -> None:
    untouched = {"number": 1}
    versions = DictVersions([vars(MODULE), vars(Plain), untouched])
    assert list(versions.written()) == []
    repeated(MODULE.look)()

    writes(MODULE)[way]()

    assert list(versions.written()) == [1 if "class attribute" in way else 0]
    versions.look()
    assert list(versions.written()) == []


@only_where_counted
def test_this_python_counts() -> None:
    assert are_counted()


def test_all_count_as_written_where_nothing_is_counted() -> None:
    versions = DictVersions([vars(MODULE), vars(Plain)], counted=False)
    versions.look()
    assert list(versions.written()) == [0, 1]
