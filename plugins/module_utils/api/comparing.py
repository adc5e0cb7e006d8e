# SPDX-License-Identifier: Apache-2.0
"""Compare a desired object with a live one, field by field. Pure functions on JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def differing_paths(live: Any, desired: Any, path: str = "") -> Iterator[str]:
    """Yield the paths under which the desired object is not what the live one says.

    Fields that only the live object has are ignored: they are defaults or belong to others.
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
        yield from differing_paths(old, new, f"{path}[{_label(new, position)}]")


def _label(element: Any, position: int) -> str:
    if isinstance(element, Mapping):
        name = element.get("name") or (element.get("metadata") or {}).get("name")
        if name:
            return str(name)
    return str(position)
