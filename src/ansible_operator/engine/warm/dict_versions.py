# SPDX-License-Identifier: Apache-2.0
"""Which dicts were written to since they were last looked at.

To compare what is in them would touch every object that they hold: milliseconds after each play,
and a page of memory that is no longer shared with the template for nearly all of it. CPython up to
3.13 counts the changes of each dict (PEP 509); where it doesn't, every dict counts as written to.
It need not count those of an object's attributes, which may lie elsewhere.
"""

import ctypes
import gc
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Where a dict keeps the count: behind its head and its number of items."""


class DictVersions:
    """Versions of some dicts.

    Args:
        dicts: plain dicts, or what ``vars`` shows of modules and classes. They must stay alive.
        counted: whether this Python counts changes; found out when not given.
    """

    def __init__(self, dicts: Sequence[Mapping[Any, Any]], counted: bool | None = None) -> None:
        self._all = range(len(dicts))
        self._counts = []
        if are_counted() if counted is None else counted:
            self._counts = [_count(one) for one in dicts]
        self._seen = self._read()

    def written(self) -> Sequence[int]:
        """Return the positions of the dicts that may have been written to since the last look."""
        if not self._counts:
            return self._all
        pairs = enumerate(zip(self._seen, self._read(), strict=True))
        return [position for position, (seen, now) in pairs if seen != now]

    def look(self) -> None:
        """Take the dicts as they are now as the ones to compare with."""
        self._seen = self._read()

    def _read(self) -> list[int]:
        return [count.value for count in self._counts]


def are_counted() -> bool:
    """Whether this Python has a version of each dict, and where it is taken to be."""
    if sys.implementation.name != "cpython":
        return False
    given = {"one": 1}
    owner: Any = type("Owner", (), {"one": 1})
    counts = [_count(given), _count(vars(owner))]
    seen = {counts[0].value}
    for change in (
        lambda: given.update(one=2),
        lambda: given.update(two=2),
        lambda: given.pop("two"),
        lambda: exec("one = 3", given),  # noqa: S102 (as modules write their variables)
        given.clear,
    ):
        change()
        if counts[0].value in seen:
            return False
        seen.add(counts[0].value)
    given.get("one")
    before = counts[1].value
    owner.one = 2
    return counts[0].value in seen and counts[1].value != before


def _count(one: Mapping[Any, Any]) -> ctypes.c_uint64:
    shown = gc.get_referents(one)[0] if isinstance(one, MappingProxyType) else one
    return ctypes.c_uint64.from_address(id(shown) + _OFFSET)
