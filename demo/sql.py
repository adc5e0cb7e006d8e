# SPDX-License-Identifier: Apache-2.0
"""Talking to the cluster in SQL, as any MySQL client would."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pymysql

STATEMENTS = (
    "select version()",
    "create database if not exists demo",
    "use demo",
    "create table if not exists greetings (id int primary key, text varchar(40))",
    "replace into greetings values (1, 'hello'), (2, 'from MatrixOne')",
    "select id, text from greetings order by id",
)

_CONNECT_SECONDS = 5
_ANSWER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and as whom to connect; the password stays out of every printout."""

    host: str
    port: int
    user: str
    password: str


class NoAnswerError(Exception):
    """SQL did not answer before the deadline."""


def connect(endpoint: Endpoint, deadline: float) -> "pymysql.connections.Connection[Any]":
    """Connect, trying again until the deadline (seconds of the monotonic clock).

    Raises:
        NoAnswerError: with the last error's text.
    """
    pause = 0.1
    while True:
        try:
            return pymysql.connect(
                host=endpoint.host,
                port=endpoint.port,
                user=endpoint.user,
                password=endpoint.password,
                connect_timeout=_CONNECT_SECONDS,
                read_timeout=_ANSWER_SECONDS,
                autocommit=True,
            )
        except (pymysql.MySQLError, OSError) as error:
            if time.monotonic() + pause > deadline:
                message = f"{endpoint.host}:{endpoint.port} does not answer SQL: {error}"
                raise NoAnswerError(message) from error
        time.sleep(pause)
        pause = min(1.0, pause * 1.5)


def run(connection: "pymysql.connections.Connection[Any]", statement: str) -> str:
    """Run one statement and return what a SQL shell would print for it."""
    with connection.cursor() as cursor:
        affected = cursor.execute(statement)
        if cursor.description is None:
            return f"ok, {affected} rows affected"
        return table([column[0] for column in cursor.description], cursor.fetchall())


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as aligned text under their column names."""
    lines = [list(header), *([str(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)
