# SPDX-License-Identifier: Apache-2.0
"""What playbooks read of a resource: the resource, and what its status says in plain fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.types import Resource
from .conditions import find
from .reasons import ConditionType

Json = dict[str, Any]

_TRUTH: Final = {"True": True, "False": False}


def resource_info(resource: Resource) -> Json:
    """Return a resource with what its status says beside its own fields.

    Args:
        resource: of any kind of ours, as the API server has it.

    Returns:
        The fields of the resource, and:

        - ``name`` and ``namespace``; the latter is empty for kinds in no namespace;
        - ``ready``: whether the condition Ready holds; None if it is Unknown or was never written;
        - ``generation_observed``: whether that is about the present spec;
        - ``state``, ``reason`` and ``message``: texts, empty where nothing was written;
        - ``conditions``: by type, without the type.
    """
    metadata, status = resource["metadata"], _mapping(resource.get("status"))
    ready = find({"status": status}, ConditionType.READY)
    observed = ready.get("observedGeneration") or 0
    return {
        **resource,
        "name": metadata["name"],
        "namespace": metadata.get("namespace") or "",
        "ready": _TRUTH.get(str(ready.get("status"))),
        "generation_observed": bool(ready) and observed >= (metadata.get("generation") or 0),
        "state": _first(status.get("phase"), status.get("state"), ready.get("reason")),
        "reason": _first(ready.get("reason")),
        "message": _first(status.get("message"), ready.get("message")),
        "conditions": _by_type(status),
    }


def _by_type(status: Mapping[str, Any]) -> dict[str, Json]:
    return {
        str(entry["type"]): {name: value for name, value in entry.items() if name != "type"}
        for entry in status.get("conditions") or []
    }


def _first(*texts: Any) -> str:
    return next((str(text) for text in texts if text), "")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
