# SPDX-License-Identifier: Apache-2.0
"""What a refusal of the database to read a table says: about its data, or about something else.

MatrixOne gives most of its errors one number (1105 or 20101), so that the text has to tell. What it
needs to read a table may fail: memory, the network, names, the object store and its credentials,
other processes of the database. That says nothing about the data. Nor does a refusal of the
statement itself. Sources: ``pkg/common/moerr/error.go``, and what Go, its network library and the
libraries of S3 say.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final


class Meaning(Enum):
    """What a refusal is about."""

    DATA = "data"
    SURROUNDINGS = "surroundings"
    STATEMENT = "statement"


def meaning_of(code: int, words: str) -> Meaning:
    """Return what a refusal is about.

    Args:
        code: number of the error.
        words: its text.
    """
    text = words.lower()
    if code in _CODES_OF_SURROUNDINGS or _OF_SURROUNDINGS.search(text):
        return Meaning.SURROUNDINGS
    if code in _CODES_OF_STATEMENT or _OF_STATEMENT.search(text):
        return Meaning.STATEMENT
    return Meaning.DATA


_CODES_OF_SURROUNDINGS: Final = frozenset(
    {
        *(1037, 1038, 1040, 1041, 1053, 1135, 1205, 1213, 1317, 3024),  # MySQL's own
        *(20103, 20104),  # memory, interrupted
        *(20401, 20416, 20417, 20419, 20422, 20425, *range(20428, 20439)),  # other processes
        *range(20500, 20600),  # between processes
        *range(20600, 20607),  # transactions
        *(20609, 20610, 20611, 20612, *range(20628, 20636)),
        *range(20700, 20800),  # locks
    }
)
_CODES_OF_STATEMENT: Final = frozenset(
    {1044, 1064, 1142, 1143, 1227, 1235, 20102, 20105, 20203, *range(20301, 20305)}
)
_OF_SURROUNDINGS: Final = re.compile(
    "out of memory|cannot allocate memory|no space left|too many open files|too many conn|"
    "resource temporarily unavailable|resource exhausted|quota|"
    "deadline exceeded|time-?out|timed out|context cancell?ed|interrupted|retry|"
    "no such host|server misbehaving|temporary failure in name resolution|dial (tcp|udp)|"
    "connection (was )?(refused|reset|closed|aborted|timed)|broken pipe|no route to host|"
    "network is unreachable|closed network connection|request send failed|requesterror|"
    "send request failed|transport is closing|tls:|x509:|certificate|"
    r"status ?code:? ?(301|307|400|401|403|407|408|411|412|429|5\d\d)|"
    "access ?denied|forbidden|unauthorized|credential|invalidaccesskeyid|expired ?token|"
    "signaturedoesnotmatch|invalidtoken|requesttimetooskewed|accountproblem|nosuchbucket|"
    "slow ?down|service ?unavailable|bad gateway|internal server error|throttl|"
    "rpc|backend|client closed|stream closed|server closed|hakeeper|log ?service|not ready|"
    "no working store|no available|shutting down|rolling restart|txn|transaction|deadlock|"
    "lock table|input/output error|stale file handle|transport endpoint|not mounted"
)
_OF_STATEMENT: Final = re.compile(
    "not supported|unsupported|not (yet )?implemented|syntax|sql parser|privilege|invalid argument|"
    "invalid input|do(es)? not have permission"
)
