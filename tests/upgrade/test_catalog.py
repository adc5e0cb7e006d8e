# SPDX-License-Identifier: Apache-2.0
"""The rows in which MatrixOne records the state of its catalog."""

from __future__ import annotations

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


def test_nothing_is_known_of_a_catalog_that_was_not_read() -> None:
    assert Catalog.read({}) is None
    found = Catalog(problem="refused")
    assert (found.is_complete, found.summary, found.release) == (False, "refused", None)
