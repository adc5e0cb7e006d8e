# SPDX-License-Identifier: Apache-2.0
"""What a manager has applied of an object, by the API server's list of its fields.

Pure functions on JSON values. Source: ``FieldsV1`` of Kubernetes' API reference, a tree whose keys
are ``f:<field>``, ``k:<keys of a list element>`` and ``v:<value of a set>``; a field without keys
of its own has one owner as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .comparing import label_of

_SERVER_ADDS: Final = frozenset(
    {
        ("fieldRef", "apiVersion"),
        ("resourceFieldRef", "divisor"),
        ("serviceAccountToken", "expirationSeconds"),
    }
)
"""Defaults inside of those values of a Pod template that have one owner as a whole."""


def applied_by(live: Mapping[str, Any], manager: str) -> list[Mapping[str, Any]]:
    """Return the entries of an object's ``managedFields`` for what a manager has applied.

    What the manager has set otherwise, or through a subresource, is not among them.
    """
    return [
        entry
        for entry in (live.get("metadata") or {}).get("managedFields") or []
        if entry.get("manager") == manager
        and entry.get("operation") == "Apply"
        and not entry.get("subresource")
    ]


def removed_paths(
    fields: Mapping[str, Any], live: Any, desired: Any, path: str = ""
) -> Iterator[str]:
    """Yield the paths that a manager has applied before and no longer asks for.

    Server-side apply removes them. What the server has added as a default, or somebody else has
    set, is not listed in the manager's fields and stays.

    Args:
        fields: what the manager owns, as in ``fieldsV1`` of ``metadata.managedFields``.
        live: the live object, or the part of it that ``fields`` describes.
        desired: the same part of what is going to be applied.
        path: of this part.
    """
    listed = {key: inner for key, inner in fields.items() if key != "."}
    if not listed:
        yield from _only_live(live, desired, path)
    for key, inner in listed.items():
        kind, _separator, name = key.partition(":")
        if kind == "f":
            has, wants, label = _field(live, name), _field(desired, name), f".{name}"
        else:
            has, wants = _listed(live, kind, name), _listed(desired, kind, name)
            label = f"[{label_of(has, 0)}]"
        where = f"{path}{label}".lstrip(".")
        if wants is None and has not in (None, []):
            yield where
        elif has is not None:
            yield from removed_paths(inner, has, wants, where)


def _field(part: Any, name: str) -> Any:
    return part.get(name) if isinstance(part, Mapping) else None


def _listed(part: Any, kind: str, text: str) -> Any:
    """Return the element of a list that a key of ``fieldsV1`` means: by its keys or its value.

    A manifest may leave out a key that has a default, as the protocol of a port.
    """
    elements = part if isinstance(part, list) else []
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if kind == "v":
        return value if value in elements else None
    keys = value if isinstance(value, Mapping) else {}
    return next((element for element in elements if keys and _fits(element, keys)), None)


def _fits(element: Any, keys: Mapping[str, Any]) -> bool:
    return isinstance(element, Mapping) and all(
        element.get(key, value) == value for key, value in keys.items()
    )


def _only_live(live: Any, desired: Any, path: str) -> Iterator[str]:
    """Yield what only the live one of two values has that have one owner as a whole."""
    if isinstance(live, Mapping) and isinstance(desired, Mapping):
        within = path.rpartition(".")[2].partition("[")[0]
        for name, value in live.items():
            where = f"{path}.{name}"
            if name in desired:
                yield from _only_live(value, desired[name], where)
            elif value is not None and (within, name) not in _SERVER_ADDS:
                yield where
    elif isinstance(live, list) and isinstance(desired, list):
        for position, (old, new) in enumerate(zip(live, desired, strict=False)):
            yield from _only_live(old, new, f"{path}[{label_of(new, position)}]")
