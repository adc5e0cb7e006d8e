# SPDX-License-Identifier: Apache-2.0
"""What is asked about a database, and what is told then: one session, no client.

The name of the database was checked and is quoted.

MatrixOne keeps the text with which a database was created, comments included, and gives each
database a number that it never gives again. So a comment tells that a database was created for a
Database, and for which; the number tells whether it is still the one that was seen before. One that
is restored from a snapshot has another number and no comment (MatrixOne 2.0).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..database_objects.conversation import Conversation

_UID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
_MARK: Final = re.compile(r"/\* matrixorigin\.io/database: ([0-9A-Za-z-]{1,64}) \*/")
_LOOK: Final = (
    "select dat_id, dat_createsql from mo_catalog.mo_database where account_id = 0 and datname = %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known before the database is asked.

    Attributes:
        name: of the database.
        uid: of the resource.
        number: of the database, as the status has it; empty if it was not seen yet.
        adopts: whether a database that somebody else has created is taken over.
    """

    name: str
    uid: str
    number: str
    adopts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a conversation.

    Attributes:
        number: of the database that is there; empty if none is.
        taken: it is somebody else's, and nothing was done.
        lost: it was there before and is not, and nothing was done.
        created: it was created now.
        dropped: it was dropped now.
    """

    number: str = ""
    taken: bool = False
    lost: bool = False
    created: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    """A database that is there: its number, and for which resource it was created, if for any."""

    number: str
    uid: str


def keep(known: Known) -> Conversation[Outcome]:
    """Create the database unless it is there, or was: an empty one must not hide what was lost."""
    found = yield from _look(known.name)
    if found is None:
        if known.number:
            return Outcome(lost=True)
        yield f"create database `{known.name}` {mark(known.uid)}", ()
        made = yield from _look(known.name)
        return Outcome(created=True, number=made.number if made else "")
    is_ours = bool(found.uid) or found.number == known.number
    return Outcome(number=found.number, taken=not is_ours and not known.adopts)


def drop(known: Known) -> Conversation[Outcome]:
    """Drop the database if it is the very one that the resource stood for."""
    found = yield from _look(known.name)
    if found is None:
        return Outcome()
    if found.number != known.number and found.uid != known.uid:
        return Outcome(number=found.number, taken=True)
    yield f"drop database `{known.name}`", ()
    return Outcome(dropped=True)


def mark(uid: str) -> str:
    """Return the comment in the statement that creates the database of a resource.

    Raises:
        ValueError: the uid is none of the API server's.
    """
    if not _UID.fullmatch(uid):
        raise ValueError("metadata.uid has characters that no uid has")
    return f"/* matrixorigin.io/database: {uid} */"


def _look(name: str) -> Conversation[_Found | None]:
    rows = yield _LOOK, (name,)
    if not rows:
        return None
    number, creation = rows[0]
    marked = _MARK.search(str(creation or ""))
    return _Found(str(number), marked.group(1) if marked else "")
