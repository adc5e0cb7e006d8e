# SPDX-License-Identifier: Apache-2.0
"""The screen about a cluster, from the objects that there are."""

import copy
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_matrixone.reading import facts_of
from kubectl_matrixone.status import screen
from kubectl_matrixone.terminal import Style, age, table

from . import objects

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
FORBIDDEN = 'backups.core.matrixorigin.io is forbidden: User "eve" cannot list resource "backups"'

SCREENS = {
    "well": (objects.cluster(), objects.PARTS, objects.BACKUPS, (), Style()),
    "ill": (objects.ILL, objects.ILL_PARTS, [], (FORBIDDEN,), Style()),
    "narrow": (objects.ILL, objects.ILL_PARTS, [], (), Style(60)),
    "coloured": (objects.ILL, objects.ILL_PARTS, objects.BACKUPS, (), Style(100, coloured=True)),
    "new": ({**objects.cluster(), "status": {}}, [], [], (), Style()),
}


@pytest.mark.parametrize("name", SCREENS)
def test_screens_are_as_released(name: str, request: pytest.FixtureRequest) -> None:
    cluster, parts, backups, unread, style = SCREENS[name]
    text = screen(facts_of(cluster, parts, backups, unread), NOW, style)
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


def test_a_backup_of_an_earlier_cluster_of_that_name_is_another_one() -> None:
    earlier = copy.deepcopy(objects.BACKUPS)
    for one in earlier:
        one["meta"]["sourceUid"] = "u-0"
    assert facts_of(objects.cluster(), [], earlier).backup is None
    assert "none is known" in screen(facts_of(objects.cluster(), [], earlier), NOW, Style())


def without_some(table: Any, chance: random.Random) -> Any:
    """Return an object without some of the fields that an API server may leave out."""
    if isinstance(table, list):
        return [without_some(one, chance) for one in table]
    if not isinstance(table, dict):
        return table
    required = {"kind", "metadata", "name", "namespace", "type", "shard", "replicas", "available"}
    return {
        name: without_some(value, chance)
        for name, value in table.items()
        if name in {*required, "result"} or chance.random() > 0.2
    }


@given(st.integers())
def test_whatever_is_missing_is_unknown(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    cluster, parts = (without_some(one, chance) for one in (objects.ILL, objects.PARTS))
    found = facts_of(cluster, parts, without_some(objects.BACKUPS, chance))
    assert screen(found, NOW, Style(80)).startswith("MatrixOneCluster shop/mo")
    if "conditions" not in cluster.get("status", {}):
        assert found.ready == "Unknown"


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        ({}, "0s"),
        ({"seconds": 59}, "59s"),
        ({"seconds": 61}, "1m1s"),
        ({"hours": 2}, "2h"),
        ({"days": 3, "hours": 4, "minutes": 5}, "3d4h"),
        ({"days": 3, "minutes": 5}, "3d"),
        ({"seconds": -5}, "0s"),
    ],
)
def test_ages_have_two_units(ago: dict[str, int], shown: str) -> None:
    assert age(NOW - timedelta(**ago), NOW) == shown
    assert age(None, NOW) == "?"


CELLS = st.text(st.characters(categories=["L", "N"]), max_size=20)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5), st.integers(20, 90))
def test_no_line_of_a_table_is_wider_than_the_terminal(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    plain = table(rows, Style(width), paint_column=1)
    assert all(len(line) <= width for line in plain)
    coloured = table(rows, Style(width, coloured=True), paint_column=1)
    for colour in ("1", "31", "32", "33"):
        coloured = [line.replace(f"\033[{colour}m", "") for line in coloured]
    assert [line.replace("\033[0m", "") for line in coloured] == plain
