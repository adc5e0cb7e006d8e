# SPDX-License-Identifier: Apache-2.0
"""What is known of a catalog after a database was asked, whatever it answered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    LIVENESS,
    Entrance,
    LoginRefused,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import catalog_query
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.catalog import (
    LAST_FAILURE,
    STATEMENTS,
    Catalog,
)

ROWS = {
    STATEMENTS[0]: [("1.2.0", 0, 2), ("2.0.1", 24, 2)],
    STATEMENTS[1]: [],
    STATEMENTS[2]: [(0,)],
}
READ = Catalog(version="2.0.1", offset=24, state=2)


def failing(kind: type[SqlError] = SqlError, *, refused: bool = False, words: str = "") -> SqlError:
    error = kind("SQL at 10.0.0.1:6001 fails")
    error.refused, error.words = refused, words
    return error


def asked(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], moved: str = "") -> Catalog:
    """Return what is found where a database gives these answers by statement.

    Args:
        monkeypatch: takes the place of sessions.
        answers: by statement; one that is not among them is not to be asked.
        moved: when the catalog was another one, as the status has it.
    """

    def ask(_place: Entrance, asked: Sequence[tuple[str, Any]], seconds: float) -> Any:
        assert seconds == 6.0
        rows: list[Any] = []
        for text, _values in asked:
            answer = answers[text]
            if isinstance(answer, SqlError):
                answer.answered = len(rows)
                raise answer
            rows.append(answer)
        return rows

    place = Entrance("10.0.0.1", 6001, "dump", "secret")
    monkeypatch.setattr(catalog_query, "ask_all", ask)
    monkeypatch.setattr(catalog_query, "root_login", lambda *_: None)
    monkeypatch.setattr(catalog_query, "entrance", lambda *_: place)
    status = {"upgrade": {"catalog": {"changedAt": moved}}} if moved else {}
    return catalog_query.ask_catalog(None, {"metadata": {}, "status": status}, "mo-proxy", 6.0)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({LIVENESS[0]: [(1,)]}, READ),
        (
            {LIVENESS[0]: failing(LoginRefused)},
            Catalog(problem="SQL at 10.0.0.1:6001 fails", serves=True),
        ),
        (
            {LIVENESS[0]: failing(words="table mo_account does not exist")},
            Catalog(
                problem="SQL at 10.0.0.1:6001 fails: table mo_account does not exist", serves=False
            ),
        ),
        (
            {LIVENESS[0]: [], STATEMENTS[1]: failing(refused=True, words="no such table")},
            Catalog(problem="SQL at 10.0.0.1:6001 fails: no such table", serves=True),
        ),
        (
            {LIVENESS[0]: [], STATEMENTS[1]: failing()},
            Catalog(problem="SQL at 10.0.0.1:6001 fails", serves=False),
        ),
        (
            {LIVENESS[0]: [], STATEMENTS[0]: []},
            Catalog(
                problem="the rows of the catalog cannot be read: mo_catalog.mo_version has no row"
            ),
        ),
    ],
)
def test_what_a_database_answers_is_a_result(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], found: Catalog
) -> None:
    assert asked(monkeypatch, {**ROWS, **answers}) == found


STANDS_STILL = {STATEMENTS[1]: [("2.0.1", "2.0.2", 0, 0)]}


@pytest.mark.parametrize(
    ("answers", "seconds", "failure"),
    [
        pytest.param(STANDS_STILL, None, "", id="the status says nothing of it yet"),
        pytest.param(STANDS_STILL, 20, "", id="it has moved lately"),
        pytest.param({}, 600, "", id="it is complete"),
        pytest.param(
            {**STANDS_STILL, LAST_FAILURE[0]: [('{"error":"no such table t"}',)]},
            40,
            "no such table t",
            id="it stands still",
        ),
        pytest.param(
            {**STANDS_STILL, LAST_FAILURE[0]: failing(words="no such table")},
            40,
            "",
            id="there is no log",
        ),
    ],
)
def test_a_catalog_that_stands_still_is_asked_why(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], seconds: int | None, failure: str
) -> None:
    moved = "" if seconds is None else timestamp(time.time() - seconds)

    found = asked(monkeypatch, {LIVENESS[0]: [(1,)], **ROWS, **answers}, moved)

    assert (found.problem, found.version, found.failure) == ("", "2.0.1", failure)


def test_so_is_a_credential_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_given: Any) -> Any:
        raise ValueError("the root credential does not exist")

    monkeypatch.setattr(catalog_query, "root_login", missing)
    found = catalog_query.ask_catalog(None, {"metadata": {}}, "mo-proxy", 6.0)
    assert found == Catalog(problem="the root credential does not exist")
