# SPDX-License-Identifier: Apache-2.0
"""What happened to an object, and which object it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .differences import meaningful

Identity = tuple[str, str, str, str]
"""apiVersion, kind, namespace and name of an object."""

ANNOTATION_KEEP = "matrixorigin.io/keep"
"""On an object that must outlive its owner: no owner reference, never pruned."""


class Change(StrEnum):
    """What happened to an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One object before and after.

    Attributes:
        title: name of the object for people.
        before: live object beforehand; None if there was none.
        after: object as the server returned it; None if it is gone.
    """

    title: str
    change: Change
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def keeps(manifest: Mapping[str, Any]) -> bool:
    """Tell whether an object is marked to outlive its owner."""
    annotations = (manifest.get("metadata") or {}).get("annotations") or {}
    return bool(annotations.get(ANNOTATION_KEEP) == "true")


def identity(manifest: Mapping[str, Any]) -> Identity:
    """Return what tells an object from all others: apiVersion, kind, namespace and name."""
    metadata = manifest.get("metadata") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return manifest.get("apiVersion") or "", manifest.get("kind") or "", namespace, name


def outcome_of(title: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Outcome:
    """Return what a write has changed, by the object before and after it."""
    if before is None:
        return Outcome(title, Change.CREATED, None, after)
    same = meaningful(before) == meaningful(after)
    return Outcome(title, Change.UNCHANGED if same else Change.CHANGED, before, after)
