# SPDX-License-Identifier: Apache-2.0
"""Events of a CNPool: which Pods were bound, released and given up in a pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..reporting.events import Occurrence, occurrence

_EACH: Final = 3
"""So many of a kind have Events of their own; of more, one Event names the first."""
_WARNINGS: Final = frozenset({"DrainTimedOut", "Replaced"})


def occurrences(notes: Iterable[tuple[str, str]]) -> list[Occurrence]:
    """Return the Events of a pass.

    Args:
        notes: word for an Event, and what happened to which Pod, in order.
    """
    by_reason: dict[str, list[str]] = {}
    for reason, text in notes:
        by_reason.setdefault(reason, []).append(text)
    found = []
    for reason, texts in by_reason.items():
        told = texts
        if len(texts) > _EACH:
            told = [f"{'; '.join(texts[:_EACH])}; and {len(texts) - _EACH} more"]
        warning = reason in _WARNINGS
        found += [occurrence(reason, text, action="Serve", warning=warning) for text in told]
    return found
