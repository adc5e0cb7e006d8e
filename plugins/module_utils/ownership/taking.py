# SPDX-License-Identifier: Apache-2.0
"""Take a prefix or folder for one owner and one attempt, and know later whether it still is its."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from ..clients.objectstore.errors import Refused, StoreError, Unsupported
from ..clients.objectstore.interface import Erasable, ObjectStore
from . import marks, neighbours
from .errors import Contested, Foreign, Superseded
from .marks import Mark

SETTLED: Final = 100.0
"""Seconds after which no page of an earlier attempt can still arrive: longer than a page may wait
after its check (`deletion.FRESH`) and one request takes."""
_MOST_ATTEMPTS: Final = 9999
_PAUSE: Final = 3.0
"""Seconds after which a request of the same owner counts as left by an attempt that is gone."""
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Hold:
    """A store that this attempt has.

    Attributes:
        store: whose files are the owner's.
        base: of the mark's names.
        mark: of the owner, as the first attempt wrote it.
        nonce: of this attempt.
        number: of this attempt, from 1.
        conditional: whether the store knows conditional writes.
        own: keys in the root that are the owner's, beside the mark.
    """

    store: ObjectStore
    base: str
    mark: Mark
    nonce: str
    number: int
    conditional: bool
    own: frozenset[str] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        """Keys in the root that are the owner's: its mark and what it said to be its."""
        return self.own | {marks.first_key(self.base)}

    def require(self) -> None:
        """Return while the store is this attempt's.

        Raises:
            Superseded: another attempt has it, or nobody.
            StoreError: the store does not tell.
        """
        store, base = self.store, self.base
        first = marks.read(store, marks.first_key(base))
        if first is None or not first.of_same(self.mark) or first.nonce != self.mark.nonce:
            raise Superseded(f"{store.name} is no longer that of {self.mark}: {first or 'no mark'}")
        number = marks.number_in(store.beginning(f"{base}."), base)
        latest = first if number <= 1 else marks.read(store, marks.key_of(base, number))
        if latest is None or (number, latest.nonce) != (self.number, self.nonce):
            raise Superseded(
                f"attempt {self.number} of {self.mark} ends: {store.name} is that of {number}"
            )

    def withdraw(self) -> None:
        """Delete the mark that this attempt has just written, if nothing has followed it."""
        with contextlib.suppress(Superseded, Foreign, StoreError):
            self.require()
            self.store.erase([Erasable(marks.key_of(self.base, self.number))])
            if self.number == 1:
                self.store.tidy()


def take(
    store: ObjectStore,
    mark: Mark,
    sleep: Sleep,
    *,
    base: str = marks.OWNER,
    own: Collection[str] = (),
    is_empty: bool = True,
) -> Hold:
    """Take a store for an attempt, or take it over from an earlier attempt of the same owner.

    Args:
        store: to take.
        mark: of the owner, with the nonce of this attempt.
        sleep: waits so many seconds; it raises when the task must end.
        base: of the mark's names.
        own: keys in the root that are known to be the owner's.
        is_empty: whether nothing may be in the store but ``own``; False for files that are known to
            be the owner's, as those of a database.

    Raises:
        Foreign: somebody else has it, or something around or below it.
        Contested: another attempt takes it at the same moment.
        StoreError: the store does not tell.
    """
    present = marks.read(store, marks.first_key(base))
    known = frozenset(own)
    if present is not None:
        hold = _take_over(store, present, mark, sleep, base, known)
        # An attempt that ended between its mark and its last look has not seen others.
        _require_alone(store, mark, hold.known | marks.BESIDE_MARK, is_empty)
        return hold
    _require_free(store, mark, known, is_empty)
    conditional = _write(store, base, 1, mark, sleep)
    hold = Hold(store, base, mark, mark.nonce, 1, conditional, known)
    try:
        # Two owners that take one store inside the other see each other now, whoever was first.
        _require_free(store, mark, hold.known, is_empty)
        hold.require()
    except BaseException:
        hold.withdraw()
        raise
    return hold


def require_free(
    store: ObjectStore,
    mark: Mark,
    *,
    base: str = marks.OWNER,
    own: Collection[str] = (),
    is_empty: bool = True,
) -> None:
    """Return when a store could be taken now, without writing anything; see `take`.

    Raises:
        Foreign: it could not.
        StoreError: the store does not tell.
    """
    present = marks.read(store, marks.first_key(base))
    if present is not None:
        _require_same(store, present, mark)
    else:
        _require_free(store, mark, frozenset(own), is_empty)


def _require_same(store: ObjectStore, present: Mark, mark: Mark) -> None:
    if not present.of_same(mark):
        raise Foreign(f"{store.name} is taken by {present}")


def _take_over(
    store: ObjectStore, present: Mark, mark: Mark, sleep: Sleep, base: str, own: frozenset[str]
) -> Hold:
    _require_same(store, present, mark)
    number = marks.number_in(store.beginning(f"{base}."), base) + 1
    if number > _MOST_ATTEMPTS:
        raise Foreign(f"{store.name} has seen {_MOST_ATTEMPTS} attempts of {present}")
    conditional = _write(store, base, number, mark.again(present), sleep)
    hold = Hold(store, base, present, mark.nonce, number, conditional, own)
    hold.require()
    return hold


def _require_free(store: ObjectStore, mark: Mark, own: frozenset[str], is_empty: bool) -> None:
    if is_empty:
        neighbours.require_none_around(store)
        neighbours.require_empty(store, own)
    else:
        _require_alone(store, mark, own, is_empty)


def _require_alone(store: ObjectStore, mark: Mark, own: frozenset[str], is_empty: bool) -> None:
    if is_empty:
        neighbours.require_none_around(store)
    else:  # what is there already may be beside what others have
        neighbours.require_outside(store, mark.owner)
    neighbours.require_none_below(store, own)


def _write(store: ObjectStore, base: str, number: int, mark: Mark, sleep: Sleep) -> bool:
    """Write the mark of an attempt unless there is one; return whether by a conditional write.

    Raises:
        Contested: another attempt writes one.
    """
    key, content = marks.key_of(base, number), marks.to_json(mark)
    with _request(store, base, mark) as conditional:
        if conditional:
            store.create(key, content)
        else:
            _require_no_rival(store, base, key, mark, sleep)
            store.write(key, [content], len(content))
        written = marks.read(store, key)
    if written is None or written.nonce != mark.nonce:
        raise Contested(f"another attempt takes {store.name}: {written or 'unknown'}")
    return conditional


@contextlib.contextmanager
def _request(store: ObjectStore, base: str, mark: Mark) -> Iterator[bool]:
    """Write a request for as long as the block, and tell whether the store knows conditions."""
    key, content = marks.request_key(base, mark.nonce), marks.to_json(mark)
    try:
        # A request that is repeated after a lost answer fails as a second one does.
        conditional = not store.create(key, content) or not store.create(key, content)
    except (Unsupported, Refused):
        store.write(key, [content], len(content))
        conditional = False
    try:
        yield conditional
    finally:
        with contextlib.suppress(StoreError):
            store.erase([Erasable(key)])


def _require_no_rival(store: ObjectStore, base: str, key: str, mark: Mark, sleep: Sleep) -> None:
    """Return when no other attempt can be about to write the same mark.

    Requests are listed before the mark is read: a rival writes its mark before it deletes its
    request.

    Raises:
        Contested: one can.
    """
    rivals = _rivals(store, base, mark)
    if rivals:
        sleep(_PAUSE)
        rivals = _rivals(store, base, mark)
    for rival in rivals:
        left = marks.read(store, rival)
        if left and not left.of_same(mark):
            raise Contested(f"{left} takes {store.name}, too; where it does not, delete {rival}")
    if marks.read(store, key) is not None:
        raise Contested(f"another attempt has taken {store.name}")


def _rivals(store: ObjectStore, base: str, mark: Mark) -> list[str]:
    found = store.beginning(f"{base}.request-")
    return [key for key in found if key != marks.request_key(base, mark.nonce)]
