# SPDX-License-Identifier: Apache-2.0
"""Clients that insert numbered rows and remember which ones were acknowledged."""

import threading
import time
from dataclasses import dataclass, field

import pymysql

from tests.clients.matrixone.matrixone import Database

_PREPARE = (
    "create database if not exists traffic",
    "create table if not exists traffic.rows_seen (n int primary key)",
    "delete from traffic.rows_seen",
)


@dataclass
class Traffic:
    """What the clients did and saw.

    Attributes:
        acknowledged: rows that the database said it has.
        errors: what clients were told instead.
        longest: the longest time in seconds between two acknowledgements of one client.
    """

    database: Database
    service: str
    acknowledged: set[int] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    longest: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Traffic":
        with self.database.connect(self.service) as session, session.cursor() as cursor:
            for statement in _PREPARE:
                cursor.execute(statement)
        for number in range(4):
            thread = threading.Thread(target=self._insert, args=(number,))
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _insert(self, number: int) -> None:
        row, last = number * 1_000_000, time.monotonic()
        while not self._stop.is_set():
            try:
                with self.database.connect(self.service) as session, session.cursor() as cursor:
                    while not self._stop.is_set():
                        cursor.execute("insert into traffic.rows_seen values (%s)", (row,))
                        self.acknowledged.add(row)
                        now = time.monotonic()
                        self.longest = max(self.longest, now - last)
                        row, last = row + 1, now
                        time.sleep(0.02)
            except pymysql.MySQLError as error:
                self.errors.append(str(error))
                # The row may be there or not: the next one is another.
                row += 1
                time.sleep(0.2)

    def stored(self) -> set[int]:
        """Return the rows that the database has."""
        with self.database.connect(self.service) as session, session.cursor() as cursor:
            cursor.execute("select n from traffic.rows_seen")
            return {int(row[0]) for row in cursor.fetchall()}
