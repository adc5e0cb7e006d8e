# SPDX-License-Identifier: Apache-2.0
"""Explain why the API server refuses a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api.comparing import differing_paths
from .errors import ApiError, Refused

_ROLLABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
"""Fields of a StatefulSet's spec that may change after its creation."""


def explained(
    error: Refused, before: Mapping[str, Any] | None, wanted: Mapping[str, Any]
) -> ApiError:
    """Name the fields that cannot be changed, where the server only says that some can't."""
    if before is None or error.status != 422:
        return error
    vague = [field.lstrip(".") for field in error.fields if field.count(".") <= 0]
    if error.fields and not vague:
        return error
    paths = [
        f"{name}.{path}" if path else name
        for name in vague or ["spec"]
        for path in differing_paths(before.get(name), wanted.get(name))
    ]
    if wanted.get("kind") == "StatefulSet":
        paths = [path for path in paths if path.split(".")[1].split("[")[0] not in _ROLLABLE]
    if not paths:
        return error
    listed = ", ".join(dict.fromkeys(paths))
    return Refused(f"{error}; what differs: {listed}", error.status, error.reason, paths)
