# SPDX-License-Identifier: Apache-2.0
"""Tell an answer from a refusal: one typed error for each thing a caller does about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .deadlines import Deadline
from .decoding import decode
from .errors import (
    MalformedAnswer,
    NotLeader,
    NotNow,
    Refused,
    TimedOut,
    UnknownStore,
    Unsupported,
)
from .protobuf import Values
from .tables import services
from .texts import shown

_FIRST_ERROR: Final = 100
_INTERNAL: Final = 20101
NOT_SUPPORTED: Final = 20105
_NO_HAKEEPER: Final = 20417
_RAFT_TIMEOUT: Final = 20429
_SHARD_NOT_FOUND: Final = 20437
_RETRYABLE_CODES: Final = frozenset({20401, _RAFT_TIMEOUT, 20434, 20435, 20438})
# A store that found no quorum needs two seconds to say so; asking again at once does not help.
_PAUSE_WITHOUT_QUORUM: Final = 1.0
_ELSEWHERE: Final = frozenset({_NO_HAKEEPER, _SHARD_NOT_FOUND})
# Raft's errors come without a text.
_MEANINGS: Final = {
    _NO_HAKEEPER: "no HAKeeper replica here",
    _RAFT_TIMEOUT: "no quorum, or overloaded",
    20434: "the shard is not ready, or the system is busy",
    20435: "the store is shutting down",
    _SHARD_NOT_FOUND: "no replica of the shard here",
}


def _refusal(what: str, code: int, text: str) -> Refused | NotLeader:
    is_unknown = code == _INTERNAL and text.endswith("does not exist")
    text = shown(text)
    message = f"{what}: {text or _MEANINGS.get(code, 'refused')} (code {code})"
    if code in _ELSEWHERE:
        return NotLeader(message)
    if code in _RETRYABLE_CODES:
        pause = _PAUSE_WITHOUT_QUORUM if code == _RAFT_TIMEOUT else 0.0
        return NotNow(message, code, text, pause)
    if code == NOT_SUPPORTED:
        return Unsupported(message, code, text)
    if is_unknown:
        return UnknownStore(message, code, text)
    return Refused(message, code, text)


def require_accepted(what: str, code: int, text: str) -> None:
    """Raise the error that an answer carries, if it carries one.

    Args:
        what: call and address, for the message.
        code: error code; below 100 means success.
        text: what the database said; may be empty.

    Raises:
        NotLeader: another store has to be asked.
        Refused: or one of its kinds.
    """
    if code >= _FIRST_ERROR:
        raise _refusal(what, code, text)


def require_no_error(what: str, answer: Values, deadline: Deadline) -> None:
    """Raise the error that an answer of the lock or query service carries as bytes.

    Args:
        what: call and address, for the message.
        answer: the answer.
        deadline: when to give up; the bytes may be many.

    Raises:
        Refused: or one of its kinds.
        MalformedAnswer: the bytes are no error.
        TimedOut: the deadline passed while they were read.
    """
    data = answer.get("Error", b"")
    if not data:
        return
    with about(what):
        error = decode(services.ERROR, data, deadline)
    code = error.get("code", 0)
    if code < _FIRST_ERROR:
        raise MalformedAnswer(f"{what}: an error with code {code}")
    require_accepted(what, code, error.get("message", ""))


@contextmanager
def about(what: str) -> Iterator[None]:
    """Let errors of decoding name the call and its address.

    Raises:
        MalformedAnswer: or TimedOut, as inside.
    """
    try:
        yield
    except MalformedAnswer as error:
        raise MalformedAnswer(f"{what}: {error}") from error
    except TimedOut as error:
        raise TimedOut(f"{what}: {error}") from error


def part(what: str, answer: Values, name: str) -> Any:
    """Return a result that every answer of a call has, even when it is empty.

    Raises:
        MalformedAnswer: it is missing.
    """
    if name not in answer:
        raise MalformedAnswer(f"{what}: the answer has no {name}")
    return answer[name]
