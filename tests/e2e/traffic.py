# SPDX-License-Identifier: Apache-2.0
"""Clients that write numbered rows through the proxy and read them back while things change.

What a client was told, how long it had to wait, and what the resources said meanwhile goes into
``build/scenarios/<name>.json``; a closing line tells the figures, and all of them come once more
at the end of the test run.
"""

import json
import os
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pymysql

from testbed.bed import KubectlError
from tests.e2e.clusters import Cluster
from tests.support.places import ROOT

REPORTS = ROOT / "build" / "scenarios"
FIGURES: list[str] = []
"""The closing lines of all scenarios of this run."""
_PREPARE = (
    "create database if not exists traffic",
    "create table if not exists traffic.rows_seen (n int primary key)",
    "delete from traffic.rows_seen",
)
_PATIENCE_SECONDS = 60
_WRITERS = 3
_ROWS_OF_A_WRITER = 1_000_000
_BEHIND_SECONDS = 10.0
_ERRORS_TOLD = 5
_TOLD = "mo,logset,dnset,cnset,proxyset,cnpool,cnclaimset,cnclaim"


def conclude(figures: str) -> None:
    """Say what a scenario measured, now and at the end of the test run."""
    FIGURES.append(f"scenario {figures}")
    sys.stdout.write(f"\n{FIGURES[-1]}\n")


def rows_seen(session: "pymysql.connections.Connection[pymysql.cursors.Cursor]") -> set[int]:
    """Return the rows of clients that a database has."""
    with session.cursor() as cursor:
        cursor.execute("select n from traffic.rows_seen")
        return {int(row[0]) for row in cursor.fetchall()}


def writer_of(row: int) -> int:
    """Return the number of the client that wrote a row; it writes one after the other."""
    return row // _ROWS_OF_A_WRITER


@dataclass
class Traffic:
    """Three clients that write and one that reads; a context manager.

    Attributes:
        cluster: whose proxy they use.
        name: of the scenario, for the report.
        every: so many seconds it notes what the resources say.
        acknowledged: rows that the database said it has.
        moments: when each of them was acknowledged, in seconds since the beginning.
        begun_at: the beginning, in seconds since 1970.
        missing: acknowledged rows that later reads did not find.
        late: those that the first of these reads did not find.
        errors: what clients were told instead of an answer.
        failures: when, in seconds since the beginning.
        longest: longest time in seconds between two acknowledgements of one writer.
        longest_at: when that ended, in seconds since the beginning.
        told: what the resources said, each with the second at which they began to say so.
    """

    cluster: Cluster
    name: str
    every: float = 1.0
    acknowledged: set[int] = field(default_factory=set)
    moments: dict[int, float] = field(default_factory=dict)
    begun_at: float = 0.0
    missing: set[int] = field(default_factory=set)
    late: set[int] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    failures: list[float] = field(default_factory=list)
    longest: float = 0.0
    longest_at: float = 0.0
    told: list[tuple[float, str]] = field(default_factory=list)
    _reads: int = 0
    _begun: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Traffic":
        self._prepare()
        self._begun, self.begun_at = time.monotonic(), time.time()
        works = [(self._write, (number,)) for number in range(_WRITERS)]
        self._threads = [threading.Thread(target=work, args=given) for work, given in works]
        self._threads += [threading.Thread(target=work) for work in (self._read, self._listen)]
        for thread in self._threads:
            thread.start()
        return self

    def _prepare(self) -> None:
        """Make the table; what happened before a scenario may still keep the database busy."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._made():
            assert time.monotonic() < deadline, "the table cannot be made"
            time.sleep(1)

    def _made(self) -> bool:
        with self._patiently() as session, session.cursor() as cursor:
            try:
                for statement in _PREPARE:
                    cursor.execute(statement)
            except pymysql.MySQLError as error:
                sys.stdout.write(f"not (yet) ready for traffic: {error}\n")
                return False
        return True

    def _patiently(self) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
        """Open a session; for a while the proxy may know of no compute node."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self.cluster.connect()
            except pymysql.MySQLError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.report()

    def stop(self) -> None:
        """End all clients."""
        self._stop.set()
        for thread in self._threads:
            thread.join(90)

    def _write(self, number: int) -> None:
        row, last = number * _ROWS_OF_A_WRITER, time.monotonic()
        while not self._stop.is_set():
            try:
                with self.cluster.connect() as session, session.cursor() as cursor:
                    while not self._stop.is_set():
                        cursor.execute("insert into traffic.rows_seen values (%s)", (row,))
                        now = time.monotonic()
                        self.moments[row] = round(now - self._begun, 3)
                        self.acknowledged.add(row)
                        if now - last > self.longest:
                            self.longest, self.longest_at = now - last, self.moments[row]
                        row, last = row + 1, now
                        time.sleep(0.05)
            except pymysql.MySQLError as error:
                self._fail(error)
                # The row may be there or not: the next one is another.
                row += 1
                time.sleep(0.3)
        self.longest = max(self.longest, time.monotonic() - last)

    def _fail(self, error: Exception) -> None:
        self.errors.append(str(error))
        self.failures.append(self.seconds())

    def seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._begun

    def until(self, moment: float) -> set[int]:
        """Return the rows that were acknowledged before a moment, in seconds since 1970."""
        limit = moment - self.begun_at
        return {row for row, at in self.moments.items() if at < limit}

    def require_service_since(self, moment: float) -> None:
        """Check that from a moment on, in seconds since the beginning, all clients were served."""
        failed = [round(at, 1) for at in self.failures if at >= moment]
        assert not failed, f"errors after second {moment:.1f}: {failed[:20]}"
        served = {writer_of(row) for row, at in self.moments.items() if at >= moment}
        assert served == set(range(_WRITERS)), f"only writers {sorted(served)} were served"

    def _read(self) -> None:
        """Look for rows that were acknowledged, any of them."""
        while not self._stop.is_set():
            try:
                with self.cluster.connect() as session, session.cursor() as cursor:
                    while not self._stop.is_set():
                        self._look_for_one(cursor)
                        time.sleep(0.2)
            except pymysql.MySQLError as error:
                self._fail(error)
                time.sleep(0.3)

    def _look_for_one(self, cursor: "pymysql.cursors.Cursor") -> None:
        known = list(self.acknowledged)
        if known:
            row = random.choice(known)  # noqa: S311 - any will do
            cursor.execute("select n from traffic.rows_seen where n = %s", (row,))
            self._reads += 1
            if cursor.fetchone() is None and not self._comes_to_light(cursor, row):
                self.missing.add(row)

    def _comes_to_light(self, cursor: "pymysql.cursors.Cursor", row: int) -> bool:
        """Tell whether a compute node finds a row a little later.

        What was written through one compute node, another may hear of only when it has read the log
        so far: one that has just started is behind for a moment.
        """
        self.late.add(row)
        deadline = time.monotonic() + _BEHIND_SECONDS
        while time.monotonic() < deadline:
            time.sleep(0.5)
            cursor.execute("select n from traffic.rows_seen where n = %s", (row,))
            if cursor.fetchone() is not None:
                return True
        return False

    def _listen(self) -> None:
        """Note what the resources say, whenever it changes."""
        said: dict[str, str] = {}
        while not self._stop.wait(self.every):
            try:
                items = self.cluster.get(_TOLD)["items"]
            except KubectlError:  # the API server may be what is away
                continue
            for item in items:
                status = item.get("status", {})
                name = f"{item['kind']}/{item['metadata']['name']}"
                now = f"{status.get('phase')} {status.get('pods', '')} {status.get('message', '')}"
                now += "".join(
                    f" [{one['reason']}: {one['message']}]"
                    for one in status.get("conditions", [])
                    if one["type"] == "Progressing" and one["status"] == "True"
                )
                if said.get(name) != now:
                    said[name] = now
                    self.told.append((round(time.monotonic() - self._begun, 1), f"{name}: {now}"))

    def stored(self) -> set[int]:
        """Return the rows that the database has."""
        with self._patiently() as session:
            return rows_seen(session)

    def lost(self) -> list[int]:
        """Return acknowledged rows that the database does not have, however long one waits."""
        found = sorted(self.acknowledged - self.stored())
        begun = time.monotonic()
        while found and time.monotonic() - begun < _PATIENCE_SECONDS:
            seconds = [self.moments[row] for row in found]
            sys.stdout.write(
                f"not (yet) there: {len(found)} rows, {found[:20]}, acknowledged in the seconds "
                f"{min(seconds)} to {max(seconds)}\n"
            )
            time.sleep(5)
            found = sorted(self.acknowledged - self.stored())
        return found

    def report(self) -> None:
        """Write down what the clients saw and what status said."""
        REPORTS.mkdir(parents=True, exist_ok=True)
        result: dict[str, Any] = {
            "scenario": self.name,
            "operator": os.environ.get("OPERATOR", "process"),
            "seconds": round(time.monotonic() - self._begun, 1),
            "acknowledged": len(self.acknowledged),
            "reads": self._reads,
            "missing": sorted(self.missing),
            "late": sorted(self.late),
            "longestGap": round(self.longest, 2),
            "errors": Counter(self.errors).most_common(),
            "failedAt": [round(at, 1) for at in self.failures],
            "longestGapEnded": self.longest_at,
            "status": self.told,
            "events": self._events(),
        }
        (REPORTS / f"{self.name}.json").write_text(json.dumps(result, indent=1))
        for text, count in result["errors"][:_ERRORS_TOLD]:
            sys.stdout.write(f"{count} times: {text[:200]}\n")
        conclude(
            f"{self.name}: {result['seconds']} s, {result['acknowledged']} rows "
            f"acknowledged, {len(self.errors)} errors, longest gap {result['longestGap']} s"
        )

    def _events(self) -> list[str]:
        items = self.cluster.get("events.events.k8s.io")["items"]
        ours = [one for one in items if "matrixorigin.io" in one["regarding"].get("apiVersion", "")]
        ours.sort(key=lambda one: one.get("eventTime") or "")
        return [
            f"{one.get('eventTime')} {one['regarding']['kind']}/{one['regarding']['name']} "
            f"{one['type']} {one['reason']}: {one.get('note', '')}"
            for one in ours
        ]

    def require_nothing_lost(
        self, *, longest: float, errors: int | None = 0, at_least: int = 100
    ) -> None:
        """Check that every acknowledged row is there, and what the clients had to bear.

        Args:
            longest: seconds that a writer may have waited at most.
            errors: how many errors the clients may have seen at most; None where the database cannot
                answer for a time, for `require_service_since`.
            at_least: rows without which the scenario proves nothing.
        """
        lost = self.lost()
        assert not lost, f"{len(lost)} acknowledged rows are lost: {lost[:20]}"
        assert not self.missing
        assert len(self.acknowledged) >= at_least
        counted = errors is None or len(self.errors) <= errors
        assert counted, Counter(self.errors).most_common(5)
        assert self.longest < longest
