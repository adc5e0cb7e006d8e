# SPDX-License-Identifier: Apache-2.0
"""Options of actions that select objects by kind, label and owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.kubernetes.selecting import Selection

KINDS: dict[str, Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "api_version": {"type": "str", "required": True},
        "kind": {"type": "str", "required": True},
        "named": {"type": "str", "default": ""},
    },
}
SELECTION: dict[str, Any] = {
    "kinds": KINDS,
    "namespace": {"type": "str"},
    "labels": {"type": "dict", "default": {}},
    "excluding": {"type": "dict", "default": {}},
    "owner_uid": {"type": "str", "default": ""},
    "unowned": {"type": "bool", "default": False},
}


def selections(chosen: Mapping[str, Any] | None) -> list[Selection]:
    """Return a selection per kind of a validated option or of a plan; none if it was left out."""
    if not chosen:
        return []
    return [
        Selection(
            api_version=kind["api_version"],
            kind=kind["kind"],
            namespace=chosen["namespace"],
            labels=chosen["labels"],
            excluding=chosen.get("excluding") or {},
            owner_uid=chosen["owner_uid"],
            unowned=chosen["unowned"],
            named=kind.get("named", ""),
        )
        for kind in chosen["kinds"]
    ]


def users(chosen: Mapping[str, Any]) -> list[Selection]:
    """Return what selects the objects that keep alive what they mention by name."""
    anybody = {"owner_uid": "", "unowned": False}
    return selections({**chosen, **anybody, "kinds": chosen["unless_used_by"]})
