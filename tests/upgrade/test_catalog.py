# SPDX-License-Identifier: Apache-2.0
"""The rows in which MatrixOne records the state of its catalog."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.upgrade.catalog import Catalog

NONE_LEFT = [(0,)]


@pytest.mark.parametrize(
    ("versions", "steps", "tenants", "complete", "summary"),
    [
        ([("2.0.1", 24, 2)], [], NONE_LEFT, True, "the catalog is that of 2.0.1"),
        ([("1.2.0", 0, 2), ("2.0.1", 24, 2)], [], NONE_LEFT, True, "that of 2.0.1"),
        ([("2.0.9", 0, 2), ("2.0.10", 0, 2)], [], NONE_LEFT, True, "that of 2.0.10"),
        ([("2.0.1", 3, 2), ("2.0.1", 24, 0)], [], NONE_LEFT, False, "2.0.1 in state 0"),
        ([("2.0.1", 24, 2), ("3.0.0", 1, 0)], [], NONE_LEFT, False, "3.0.0 in state 0 (created)"),
        (
            [("2.0.1", 24, 2), ("3.0.0", 1, 1)],
            [("2.0.1", "2.0.2", 9, 4), ("2.0.2", "3.0.0", 0, 0)],
            [(5,)],
            False,
            "2 steps to do, next 2.0.1 to 2.0.2, 5 tenants left",
        ),
        ([("3.0.0", 1, 2)], [], [(3,)], False, "3 groups of tenants to do"),
    ],
)
def test_a_catalog_is_complete_when_its_newest_version_is_ready_and_nothing_is_open(
    versions: Any, steps: Any, tenants: Any, complete: bool, summary: str
) -> None:
    found = Catalog.of(versions, steps, tenants)
    assert found.is_complete == complete
    assert summary in found.summary
    assert Catalog.read(found.as_result()) == found


@pytest.mark.parametrize(
    ("versions", "steps", "tenants"),
    [
        ([], [], NONE_LEFT),
        ([("2.0.1", None, 2)], [], NONE_LEFT),
        ([("2.0.1", 2)], [], NONE_LEFT),
        ([("2.0.1", 24, 2)], [("a", "b")], NONE_LEFT),
        ([("2.0.1", 24, 2)], [], []),
        ([("2.0.1", 24, 2)], [], [("x",)]),
    ],
)
def test_other_rows_are_none(versions: Any, steps: Any, tenants: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        Catalog.of(versions, steps, tenants)


PITR = (
    "UpgradeEntry type:0 schema: mo_catalog.mo_pitr, upgrade sql: alter table mo_pitr\n\tadd kind"
)


@pytest.mark.parametrize(
    ("rows", "failure"),
    [
        ([], ""),
        ([('{"error":"no such table t","version":"4.0.0"}',)], "no such table t"),
        (
            [(json.dumps({"error": "no such table t", "upgrade entry": PITR}),)],
            "no such table t (alter table mo_pitr add kind)",
        ),
        ([(json.dumps({"error": "e" * 400, "upgrade entry": PITR}),)], "e" * 299 + "…"),
        ([('{"message":"something else"}',)], ""),
        ([("[1]",)], ""),
        ([("no JSON",)], ""),
        ([(None,)], ""),
        ([()], ""),
    ],
)
def test_what_failed_last_is_told_as_it_was_logged(rows: Any, failure: str) -> None:
    """What is logged changes while the catalog is the same, and does not count as progress."""
    plain = Catalog.of([("3.0.2", 3, 2), ("4.0.6", 5, 0)], [("3.0.2", "4.0.0", 0, 0)], NONE_LEFT)

    found = plain.with_failure(rows)

    assert (found.failure, found) == (failure, plain)
    told = f"; MatrixOne logged: {failure}" if failure else ""
    assert found.summary == f"{plain.summary}{told}"


def test_nothing_is_known_of_a_catalog_that_was_not_read() -> None:
    assert Catalog.read({}) is None
    found = Catalog(problem="refused")
    assert (found.is_complete, found.summary, found.release) == (False, "refused", None)
