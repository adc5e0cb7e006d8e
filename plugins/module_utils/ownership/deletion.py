# SPDX-License-Identifier: Apache-2.0
"""Delete what an owner has in a store, page by page, and its mark last."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from ..clients.objectstore.errors import Unreachable
from ..clients.objectstore.interface import PAGE, Erasable
from . import marks, neighbours
from .errors import Superseded
from .taking import Hold, Sleep

FRESH: Final = 30.0
"""Seconds that a page may wait after it was found to be the owner's."""
_ATTEMPTS: Final = 5
_PAUSE: Final = 2.0
_KEPT: Final = 100
"""Keys of unknown files that are remembered."""
Owns = Callable[[str], bool]
Advance = Callable[[int], None]
"""Is called with the number of items just deleted; it raises when the task must end."""


def clear(hold: Hold, owns: Owns, advance: Advance, sleep: Sleep) -> list[str]:
    """Delete the owner's files, but for its mark.

    Args:
        hold: what this attempt has.
        owns: tells by its key whether a file is the owner's; what is not stays.
        advance: of the task.
        sleep: waits before an attempt is repeated.

    Returns:
        Keys of other files, at most 100.

    Raises:
        Superseded: another attempt has taken over.
        Foreign: something below is somebody else's, or all of it.
        StoreError: the store does not delete.
    """
    neighbours.require_none_below(hold.store, hold.known)
    kept: dict[str, None] = {}
    for page in hold.store.erasable():
        own = [item for item in page if not marks.is_mark(item.key) and owns(item.key)]
        for item in page:
            if not marks.is_mark(item.key) and not owns(item.key) and len(kept) < _KEPT:
                kept[item.key] = None
        _erase(hold, own, sleep)
        advance(len(own))
    return list(kept)


def discard(hold: Hold, keys: Iterable[str], sleep: Sleep) -> None:
    """Delete single objects of the owner.

    Raises:
        Superseded, Foreign, StoreError: as `clear`.
    """
    items = [Erasable(key) for key in keys]
    for first in range(0, len(items), PAGE):
        _erase(hold, items[first : first + PAGE], sleep)


def release(hold: Hold, sleep: Sleep, others: Collection[str] = ()) -> None:
    """Delete the mark, with all its versions, after everything else of the owner.

    Args:
        hold: what this attempt has.
        sleep: waits before an attempt is repeated.
        others: bases of further marks in the root that are the owner's.

    Raises:
        Superseded, Foreign, StoreError: as `clear`.
    """
    first = marks.first_key(hold.base)
    items = [
        item
        for base in (*others, hold.base)
        for page in hold.store.erasable(f"{base}.")
        for item in page
        if marks.is_of_mark(item.key, base)
    ]
    later = [item for item in items if item.key != first]
    last = [item for item in items if item.key == first]
    own = marks.key_of(hold.base, hold.number)
    _erase(hold, [item for item in later if item.key != own], sleep)
    # An attempt that ends between the two leaves a mark that the next one takes over.
    _erase(hold, [item for item in later if item.key == own] + last, sleep)
    hold.store.tidy()


def _erase(hold: Hold, items: Sequence[Erasable], sleep: Sleep) -> None:
    """Delete a page right after it was found to be the owner's; repeat both when it is lost."""
    for attempt in range(_ATTEMPTS if items else 0):
        if attempt:
            sleep(_PAUSE)
        checked = time.monotonic()
        hold.require()
        neighbours.require_outside(hold.store, hold.mark.owner)
        neighbours.require_none_beside(hold.store, [item.key for item in items], hold.known)
        if time.monotonic() - checked > FRESH:
            continue
        try:
            hold.store.erase(items)
        except Unreachable:
            if attempt == _ATTEMPTS - 1:
                raise
            continue
        return
    if items:
        raise Superseded(f"{hold.store.name} answers too slowly; nothing was deleted from it")
