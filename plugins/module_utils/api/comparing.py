# SPDX-License-Identifier: Apache-2.0
"""Compare a desired object with a live one, field by field. Pure functions on JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from . import quantities as quantity
from .errors import QuantityError

_QUANTITIES: Final = frozenset({"sizeLimit"})
"""Fields of Pods with a quantity."""
_RESOURCES: Final = frozenset({"limits", "requests"})
"""Fields of Pods and claims with a quantity under each key; the server rounds them up to
thousandths."""


def differing_paths(live: Any, desired: Any, path: str = "") -> Iterator[str]:
    """Yield the paths under which the desired object is not what the live one says.

    Fields that only the live object has are ignored: they are defaults or belong to others, unless
    ``managed_fields.removed_paths`` yields them.
    Lists are compared by position; their elements are shown by name where they have one.
    """
    if isinstance(desired, Mapping) and isinstance(live, Mapping):
        for name, value in desired.items():
            yield from differing_paths(live.get(name), value, f"{path}.{name}".lstrip("."))
    elif isinstance(desired, list) and isinstance(live, list):
        yield from _differing_elements(live, desired, path)
    elif live != desired and not (live is None and desired in ({}, [], "")):
        yield path


def _differing_elements(live: list[Any], desired: list[Any], path: str) -> Iterator[str]:
    if len(live) != len(desired):
        yield path
        return
    for position, (old, new) in enumerate(zip(live, desired, strict=True)):
        yield from differing_paths(old, new, f"{path}[{label_of(new, position)}]")


def label_of(element: Any, position: int) -> str:
    """Return how a path names an element of a list: by its name, else by its position."""
    if isinstance(element, Mapping):
        name = element.get("name") or (element.get("metadata") or {}).get("name")
        if name:
            return str(name)
    return str(position)


def without_empty_lists(value: Any) -> Any:
    """Return a value without the fields that are empty lists.

    They say what a missing field says, and a server may keep either: it stores none in objects of
    its own kinds, and drops a list keyed by its elements when an apply takes the last one away.
    """
    if isinstance(value, list):
        return [without_empty_lists(element) for element in value]
    if not isinstance(value, Mapping):
        return value
    return {name: without_empty_lists(inner) for name, inner in value.items() if inner != []}


def by_value(part: Any) -> Any:
    """Return a part of an object with its quantities as numbers, which the server rewrites."""
    if isinstance(part, list):
        return [by_value(element) for element in part]
    if not isinstance(part, Mapping):
        return part
    found = {}
    for name, value in part.items():
        if name in _QUANTITIES:
            found[name] = _number(value, 1)
        elif name in _RESOURCES and isinstance(value, Mapping):
            found[name] = {resource: _number(size, 1000) for resource, size in value.items()}
        else:
            found[name] = by_value(value)
    return found


def _number(value: Any, parts: int) -> Any:
    try:
        exact = quantity.parse(value)
    except QuantityError:
        return value
    return str(Fraction(math.ceil(exact * parts), parts) if parts > 1 else exact)
