# SPDX-License-Identifier: Apache-2.0
"""Every row of the page on what differs from the predecessor names tests, and they exist."""

from tests.runner.test_contract_page import DOCS, NAMED, names_in

PAGE = DOCS / "reference" / "pools-contract.md"


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith("| situation |")]


def test_every_row_names_tests_that_exist() -> None:
    assert len(rows()) > 30
    assert [row for row in rows() if not NAMED.search(row)] == []
    named = [match.groups() for row in rows() for match in NAMED.finditer(row)]
    assert [f"{file}::{name}" for file, name in named if name not in names_in(file)] == []
    assert sum(row.count("::") for row in rows()) == len(named)
