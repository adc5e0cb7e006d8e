# SPDX-License-Identifier: Apache-2.0
"""Compare objects the way a person would: without the server's bookkeeping, without secrets.

Pure functions on dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BOOKKEEPING = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SECRET_FIELDS = ("data", "stringData")
_OUR_DOMAINS = ("matrixorigin.io", "matrixorigin.cn")
MASK = "********"


def meaningful(live: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the part of an object that its author decides: no status, no server bookkeeping."""
    if live is None:
        return {}
    kept = {name: value for name, value in live.items() if name not in {"status", "metadata"}}
    metadata = {
        name: value
        for name, value in (live.get("metadata") or {}).items()
        if name not in _BOOKKEEPING
    }
    annotations = {
        name: value
        for name, value in (metadata.pop("annotations", None) or {}).items()
        if name != _LAST_APPLIED
    }
    if annotations:
        metadata["annotations"] = annotations
    return {**kept, "metadata": metadata}


def shown_difference(
    title: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Build one entry of Ansible's ``diff``: both states, with the values of Secrets masked.

    Args:
        title: name of the object, shown above both sides.
        before: live object before the change; None if there was none.
        after: object after the change; None if it is gone.
    """
    old, new = meaningful(before), meaningful(after)
    if "Secret" in {old.get("kind"), new.get("kind")}:
        old, new = _masked(old, new)
    return {"before_header": title, "after_header": title, "before": old, "after": new}


def _masked(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Mask the values of two states of a Secret so that one still sees which keys changed."""
    left, right = _without_foreign_annotations(old), _without_foreign_annotations(new)
    for field in _SECRET_FIELDS:
        was, becomes = old.get(field) or {}, new.get(field) or {}
        if field in left:
            left[field] = dict.fromkeys(was, MASK)
        if field in right:
            right[field] = {
                key: MASK if was.get(key, value) == value else f"{MASK} (changed)"
                for key, value in becomes.items()
            }
    return left, right


def without_payload(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object for a task's result: no managed fields, no content of Secrets or files.

    Nor copies of the content: kubectl keeps one of everything that it applies in an annotation,
    other tools have annotations of their own for it, and a Secret keeps only ours.
    """
    kept = _without_foreign_annotations(live) if live.get("kind") == "Secret" else dict(live)
    metadata = {
        name: value
        for name, value in (kept.get("metadata") or {}).items()
        if name != "managedFields"
    }
    if _LAST_APPLIED in (metadata.get("annotations") or {}):
        annotations = {**metadata["annotations"]}
        del annotations[_LAST_APPLIED]
        metadata["annotations"] = annotations
    kept["metadata"] = metadata
    if kept.get("kind") in {"Secret", "ConfigMap"}:
        for field in (*_SECRET_FIELDS, "binaryData"):
            if field in kept:
                kept[field] = dict.fromkeys(kept[field])
    return kept


def _without_foreign_annotations(secret: Mapping[str, Any]) -> dict[str, Any]:
    metadata = dict(secret.get("metadata") or {})
    if metadata.get("annotations"):
        metadata["annotations"] = {
            name: value for name, value in metadata["annotations"].items() if _is_ours(name)
        }
    return {**secret, "metadata": metadata} if "metadata" in secret else dict(secret)


def _is_ours(annotation: str) -> bool:
    domain = annotation.partition("/")[0]
    return any(domain == ours or domain.endswith(f".{ours}") for ours in _OUR_DOMAINS)
