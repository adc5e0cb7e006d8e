# SPDX-License-Identifier: Apache-2.0
"""A log service, a compute node or a database answers what nobody expects: it is never an answer.

Answers are cut off at each byte, damaged, sent again or among others, or are whole and hold what no
database says. Whatever cannot be read is an error that names the call, and stays unknown: not zero,
not healthy, not gone.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final
from unittest.mock import patch

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import sql
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    BadRequest,
    Deadline,
    MatrixOneError,
    framing,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql_session import (
    Session,
)

from faults.peers import database, messages
from faults.peers import sql as statements
from faults.peers.damage import damaged
from faults.peers.database import QUESTIONS, Question
from faults.peers.serving import serving
from faults.points import Fault, Method, Point

NAME: Final = "answers"
SQL: Final = "sql"
CUT, DAMAGED, ODD, AMONG = "cut", "damaged", "odd", "among"
_ASKED_BY: Final[Mapping[str, Sequence[str]]] = {
    "LogSet": ("view", "shard-info"),
    "DNSet": ("details",),
    "CNSet": ("details", "load", "sessions", "locks"),
    "CNPool": ("details", "load"),
    "Backup": (SQL,),
    "BackupJob": (SQL,),
    "RestoreJob": (SQL,),
}
_SEEDS: Final = 60
_ROWS: Final = (("db1", "t1"), ("db2", None), ("db3", "t3"))
_QUESTION: Final = ("SELECT a, b", ())
_DEADLINE_SECONDS: Final = 4.0
_LATE_SECONDS: Final = 8.0
"""How much later than its deadline a call may end on a machine that is busy."""
_LONGEST_MESSAGE: Final = 1000
_CHUNK: Final = 1 << 16


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield places where an answer is cut off, and seeds, for each question of a kind."""
    for name in _ASKED_BY.get(kind, ()):
        ways = (CUT, DAMAGED, ODD) if name == SQL else (CUT, DAMAGED, ODD, AMONG)
        for way in ways:
            for _ in range(_SEEDS):
                yield Point(NAME, kind, f"{name}:{way}:{rng.randrange(10**6)}")


def run(point: Point) -> None:
    """Ask a peer that answers so.

    Raises:
        Fault: what could not be read became an answer, or another error than the client's own.
    """
    name, way, number = point.place.split(":")
    if name == SQL:
        ask_sql(way, int(number))
    else:
        ask_database(name, way, int(number))


def ask_database(name: str, way: str, number: int) -> None:
    """Ask the log service or a compute node.

    Raises:
        Fault: as `run`.
    """
    question, rng = QUESTIONS[name], random.Random(number)  # noqa: S311 - repeatable
    replies = [database.framed(call.body(i + 1)) for i, call in enumerate(question.calls)]
    index = rng.randrange(len(replies))
    must_fail = way == CUT
    if way == CUT:
        replies[index] = replies[index][: number % len(replies[index])]
    elif way == DAMAGED:
        replies[index] = damaged(replies[index], rng)
    elif way == AMONG:
        replies[index] = database.noise(number) + replies[index] * rng.choice((1, 1, 2))
    else:
        replies[index], must_fail = _odd(question, index, rng)
    is_last = way in {CUT, DAMAGED}
    found = _found(question, replies[: index + 1] if is_last else replies)
    _require_sense(found, way, question.unknown, must_fail=must_fail)
    if way in {DAMAGED, AMONG} and not _is_unknown(found, question):
        expected = _expected(name)
        if found != expected:
            raise Fault(f"it is taken for {_short(found)}, and was {_short(expected)}")
    if way == AMONG and found != _expected(name):
        raise Fault(f"the answer is not found among others: {_short(found)}")


def _odd(question: Question, index: int, rng: random.Random) -> tuple[bytes, bool]:
    """Return a whole frame of a message with odd fields, and whether it lacks what it must have."""
    call = question.calls[index]
    nodes = messages.read(call.table, call.body(index + 1))
    spared = frozenset(one.number for one in nodes if one.number != call.part)
    messages.spoil(nodes, rng, spared if rng.random() < 0.8 else frozenset())
    lacks_it = call.part > 0 and all(one.number != call.part for one in nodes)
    try:
        return database.framed(messages.encode(nodes)), lacks_it
    except BadRequest:  # more than a frame holds
        return b"\x7f\xff\xff\xff", True


def _replying(replies: Sequence[bytes]) -> Callable[[socket.socket], None]:
    def handle(peer: socket.socket) -> None:
        buffer = framing.FrameBuffer()
        for reply in replies:
            while data := peer.recv(_CHUNK):
                if buffer.feed(data):
                    break
            else:
                return
            peer.sendall(reply)

    return handle


@cache
def _expected(name: str) -> Any:
    question = QUESTIONS[name]
    replies = [database.framed(call.body(i + 1)) for i, call in enumerate(question.calls)]
    found = _found(question, replies)
    if isinstance(found, Exception):
        raise found
    return found


def _found(question: Question, replies: Sequence[bytes]) -> Any:
    """Return the result of a question, or the error that it ended with."""
    with serving(_replying(replies)) as address:
        return _ended(
            lambda: question.ask(address, Deadline.after(_DEADLINE_SECONDS)),
            MatrixOneError,
            address,
        )


def _ended(ask: Callable[[], Any], known: type[Exception], address: str) -> Any:
    """Return what a call returns, or its error, which has to be one that its callers know."""
    began = time.monotonic()
    try:
        found = ask()
    except known as error:
        found = error
        if address not in str(error):
            raise Fault(f"an error does not say where it happened: {_short(error)}") from error
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise Fault(f"an error that no caller expects: {text[:300]}") from error
    took = time.monotonic() - began
    if took > _DEADLINE_SECONDS + _LATE_SECONDS:
        raise Fault(f"it takes {took:.0f} s, and has {_DEADLINE_SECONDS:.0f}")
    return found


def _is_unknown(found: Any, question: Question) -> bool:
    unknown = question.unknown
    return isinstance(found, Exception) or (unknown is not None and found == unknown)


def _require_sense(found: Any, way: str, unknown: Any, *, must_fail: bool) -> None:
    if isinstance(found, Exception):
        text = f"{found!s} {getattr(found, 'words', '')}"
        secrets = (database.MARK, statements.MARK, statements.PASSWORD)
        if len(text) > _LONGEST_MESSAGE or any(one in text for one in secrets):
            raise Fault(f"an error quotes what was answered: {_short(found)}")
        return
    if must_fail and (unknown is None or found != unknown):
        raise Fault(f"what is no answer ({way}) is taken for {_short(found)}")
    for problem in database.odd_parts(found):
        raise Fault(f"an answer that no database gives is believed: {problem}")


def _short(found: Any) -> str:
    return f"{type(found).__name__} {found!s}"[:300]


@contextmanager
def _without_certificates() -> Iterator[None]:
    """Let the driver prepare no TLS, which takes longer than all the rest; the server has none."""
    with patch.object(Session, "_create_ssl_ctx", lambda *_given: None):
        yield


def ask_sql(way: str, number: int) -> None:
    """Ask a database in SQL.

    Raises:
        Fault: as `run`.
    """
    rng = random.Random(number)  # noqa: S311 - repeatable
    good = statements.conversation(_ROWS)
    spoiled = {
        CUT: lambda: statements.cut(good, number % statements.length(good)),
        DAMAGED: lambda: statements.with_damage(good, rng),
        ODD: lambda: statements.misshapen(good, rng),
    }[way]()

    def ask() -> Any:
        entrance = sql.Entrance("127.0.0.1", port, "dump", statements.PASSWORD)
        return sql.ask(entrance, _QUESTION, _DEADLINE_SECONDS)

    with serving(spoiled.handle) as address, _without_certificates():
        port = int(address.rpartition(":")[2])
        found = _ended(ask, sql.SqlError, address)
    if statements.PASSWORD.encode() in spoiled.received:
        raise Fault("the server got the password itself")
    must_fail = way == CUT or statements.is_question_unanswered(spoiled)
    _require_sense(found, way, None, must_fail=must_fail)
    if not isinstance(found, Exception) and (wrong := statements.shape_of(found, spoiled)):
        raise Fault(f"the rows of an answer are not what it says: {wrong}")


METHOD: Final = Method(NAME, "answers of databases that are none", points, run)
