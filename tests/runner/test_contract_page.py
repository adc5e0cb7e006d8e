# SPDX-License-Identifier: Apache-2.0
"""Every test that the pages on the runner name exists, and every row names one."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs"
PAGE = DOCS / "reference" / "runner-contract.md"
MOVING = DOCS / "moving.md"
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| behavior |")]


def problems() -> list[str]:
    """The rows of the table of problems of the Go runner."""
    lines = MOVING.read_text().splitlines()
    return [line for line in lines if re.match(r"\| \d+\. ", line)]


def test_every_row_names_a_test() -> None:
    assert len(rows()) > 80
    assert [row for row in rows() if not NAMED.search(row)] == []


def test_every_problem_has_a_source_and_a_test() -> None:
    assert len(problems()) == 10
    assert [row for row in problems() if "/issues/" not in row or not NAMED.search(row)] == []


def test_every_named_test_exists() -> None:
    named = [match.groups() for row in rows() + problems() for match in NAMED.finditer(row)]
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []
    mentioned = sum(row.count("::") for row in rows() + problems())
    assert mentioned == len(named), "a name is not written as the others are"
