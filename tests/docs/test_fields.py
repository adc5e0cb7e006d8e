# SPDX-License-Identifier: Apache-2.0
"""Fields that docs/configure.md names are fields of the CRD."""

import re
from functools import cache
from typing import Any

import pytest
import yaml

from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "configure.md").read_text()
COMPONENTS = ("logService", "tn", "cnGroups", "proxy", "webui")


@cache
def _spec() -> dict[str, Any]:
    text = (ROOT / "crds" / "core.matrixorigin.io_matrixoneclusters.yaml").read_text()
    [version] = yaml.safe_load(text)["spec"]["versions"]
    return dict(version["schema"]["openAPIV3Schema"]["properties"]["spec"])


def _has(node: dict[str, Any], path: list[str]) -> bool:
    node = node.get("items", node)
    if not path:
        return True
    return path[0] in node.get("properties", {}) and _has(node["properties"][path[0]], path[1:])


def _named() -> list[str]:
    table = PAGE.partition("## Find a field")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    return sorted({name for row in rows for name in _of_a_row(row)})


def _of_a_row(row: str) -> list[str]:
    """Fields of a row; those after a colon are inside of the one before it."""
    outer, _, inner = row.split("|")[2].partition("`:")
    found = re.findall(r"`([^`]+)`", outer + ("`" if inner else ""))
    return [*found, *(f"{found[-1]}.{one}" for one in re.findall(r"`([^`]+)`", inner))]


@pytest.mark.parametrize("name", _named())
def test_it_is_a_field(name: str) -> None:
    spec, path = _spec(), name.replace("[]", "").split(".")
    # For the dots of a component, any of them will do: not all have every field.
    roots = [[one] for one in COMPONENTS] if name.startswith("…") else [[]]
    rest = [part.strip("…") for part in path if part.strip("…")]
    assert any(_has(spec, [*root, *rest]) for root in roots)
