# SPDX-License-Identifier: Apache-2.0
"""Take over what another program wrote, so that fields it set and we do not can go.

Server-side apply removes only fields of its own manager. Without this, what an earlier operator
wrote by plain updates would stay in the objects for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_APPLY = "Apply"
_UPDATE = "Update"

Entry = dict[str, Any]


def taken_over(
    live: Mapping[str, Any], others: Collection[str], field_manager: str
) -> list[Entry] | None:
    """Return the managed fields of an object after we have taken over those of others.

    Args:
        live: the object with its ``metadata.managedFields``.
        others: names of managers that are replaced.
        field_manager: our own name, as in later applies.

    Returns:
        The new list, or None if there is nothing to take over.
    """
    entries: list[Entry] = list((live.get("metadata") or {}).get("managedFields") or [])
    theirs = [entry for entry in entries if _is_theirs(entry, others)]
    if not theirs:
        return None
    ours = [entry for entry in entries if _is_ours(entry, field_manager)]
    fields: dict[str, Any] = {}
    for entry in [*ours, *theirs]:
        fields = _union(fields, entry.get("fieldsV1") or {})
    merged = {**theirs[0], "manager": field_manager, "operation": _APPLY, "fieldsV1": fields}
    rest = [entry for entry in entries if entry not in theirs and entry not in ours]
    return [merged, *rest]


def _is_theirs(entry: Mapping[str, Any], others: Collection[str]) -> bool:
    return (
        entry.get("manager") in others
        and entry.get("operation") == _UPDATE
        and not entry.get("subresource")
    )


def _is_ours(entry: Mapping[str, Any], field_manager: str) -> bool:
    same = entry.get("manager") == field_manager and entry.get("operation") == _APPLY
    return same and not entry.get("subresource")


def _union(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Join two sets of fields in the API server's notation, a tree of keys."""
    joined = dict(left)
    for key, value in right.items():
        inner = joined.get(key)
        if isinstance(inner, Mapping) and isinstance(value, Mapping):
            joined[key] = _union(inner, value)
        else:
            joined.setdefault(key, value)
    return joined
