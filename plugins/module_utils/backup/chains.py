# SPDX-License-Identifier: Apache-2.0
"""Chains of backups: a full one and the incremental ones that build on it, one on the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .manifest import FULL, INCREMENTAL, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A backup, as far as chains and retention are concerned.

    Attributes:
        name: of the Backup.
        id: of the backup; a base is referred to by it.
        base: id of the backup that this one builds on; empty for a full one.
        at: the moment of the snapshot.
        good: known to be whole, and not being deleted.
        root: what its source and the folder above it are, as text; a base has the same.
        source: the database that was backed up, as text; a later one of its name has another.
        known: whether it is known if it is good. One that was applied again has no status for a
            while; it is not good then, and not bad either.
        pinned: a user wants it to stay.
    """

    name: str
    id: str
    base: str
    at: datetime
    good: bool
    root: str = ""
    source: str = ""
    known: bool = True
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The type of the next backup.

    Attributes:
        base: name of the Backup that it builds on; empty for a full one.
        why: one clause for Events and messages.
    """

    base: str
    why: str

    @property
    def type(self) -> str:
        """The type of the backup."""
        return INCREMENTAL if self.base else FULL


def newest_first(links: Iterable[Link]) -> list[Link]:
    """Return backups by their moment, then by name."""
    return sorted(links, key=lambda link: (link.at, link.name), reverse=True)


def chain_of(link: Link, by_id: Mapping[str, Link]) -> list[Link]:
    """Return a backup and its bases, down to the full one.

    Returns:
        Empty if a base is missing, or if the backups form a ring.
    """
    chain = [link]
    while chain[-1].base:
        below = by_id.get(chain[-1].base)
        if below is None or below in chain:
            return []
        chain.append(below)
    return chain


def whole(links: Iterable[Link]) -> list[Link]:
    """Return the backups that can be restored: good, with a chain of good ones; newest first."""
    known = list(links)
    by_id = {link.id: link for link in known}
    return [
        link
        for link in newest_first(known)
        if (chain := chain_of(link, by_id)) and all(part.good for part in chain)
    ]


def successors(records: Iterable[tuple[str, Manifest]], identity: str) -> list[str]:
    """Return where the backups are that continue a backup, of those whose records were found.

    Args:
        records: where each is, and its record.
        identity: of the backup.
    """
    return [place for place, one in records if one.base is not None and one.base.id == identity]


def unchained(links: Iterable[Link]) -> list[Link]:
    """Return the good backups that cannot be restored, as one that they need is missing or bad.

    Those that need one of which nothing is known are not among them.
    """
    known = list(links)
    by_id = {link.id: link for link in known}
    return [link for link in known if link.good and not _may_be_whole(chain_of(link, by_id))]


def _may_be_whole(chain: Sequence[Link]) -> bool:
    return bool(chain) and all(part.good or not part.known for part in chain)


def choose(
    links: Sequence[Link], full_every: int, root: str, *, spoiled: Iterable[str] = ()
) -> Choice:
    """Decide the type of the next backup of a schedule.

    Args:
        links: the backups of the schedule.
        full_every: every n-th backup is full; 1 for full ones only.
        root: source and folder of the next backup; another one begins another chain.
        spoiled: ids of backups on which an incremental one could not be made.
    """
    if full_every <= 1:
        return Choice("", "all backups are full")
    if not links:
        return Choice("", "there is none to build on")
    last = newest_first(links)[0]
    unfit = _unfit(last, links, root, frozenset(spoiled))
    if unfit:
        return Choice("", unfit)
    if len(_known_chain(last, links)) >= full_every:
        return Choice("", f"{full_every - 1} incremental ones are enough")
    return Choice(last.name, f"builds on {last.name}")


def _unfit(last: Link, links: Sequence[Link], root: str, spoiled: frozenset[str]) -> str:
    """Return why nothing can be built on a backup; empty if something can."""
    if last not in whole(links):
        return f"{last.name} cannot be built on"
    if last.root != root:
        return f"{last.name} has another source or target"
    bad = {link.id for link in _known_chain(last, links)} & spoiled
    return f"building on backup {min(bad)} failed" if bad else ""


def _known_chain(link: Link, links: Iterable[Link]) -> list[Link]:
    return chain_of(link, {one.id: one for one in links})
