# SPDX-License-Identifier: Apache-2.0
"""LabelSelectors as Kubernetes evaluates them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Selector = Mapping[str, Any]


def matches(selector: Selector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a selector selects an object with these labels.

    None selects nothing, an empty one everything; an operator that is not known selects nothing.
    """
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(expression, labels) for expression in selector.get("matchExpressions") or ())


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = expression.get("key"), expression.get("operator")
    values = expression.get("values") or ()
    present = key in labels
    found = labels.get(str(key))
    return {
        "In": present and found in values,
        "NotIn": not present or found not in values,
        "Exists": present,
        "DoesNotExist": not present,
    }.get(str(operator), False)


def identity(selector: Selector | None) -> str:
    """Return a text that is the same for selectors that are written alike."""
    return json.dumps(selector, sort_keys=True, default=str)
