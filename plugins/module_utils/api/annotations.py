# SPDX-License-Identifier: Apache-2.0
"""Annotations by which a user says yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import names


def says_yes(resource: Mapping[str, Any], name: str) -> bool:
    """Return whether an annotation has a value other than empty, ``false`` or ``no``."""
    annotations = resource["metadata"].get("annotations") or {}
    return str(annotations.get(name) or "").lower() not in {"", "false", "no"}


def is_fenced(resource: Mapping[str, Any]) -> bool:
    """Return whether nothing of a resource may be changed or deleted, and no client may use it."""
    return says_yes(resource, names.ANNOTATION_FENCED)
