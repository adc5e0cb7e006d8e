# SPDX-License-Identifier: Apache-2.0
"""docs/reference/management.md names a test for each row of the guide, and all of them."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "reference" / "management.md"
ROW = re.compile(r"^\| C(\d+) \| (.+) \| (.*) \|$", flags=re.MULTILINE)
NAMED = re.compile(r"`(test_\w+\.py)::(test_c(\d+)_\w+)`")


def test_every_row_has_a_test_that_carries_its_number() -> None:
    rows = ROW.findall(PAGE.read_text())
    assert [int(number) for number, *_ in rows] == list(range(1, 33))
    for number, _, tests in rows:
        named = NAMED.findall(tests)
        assert len(named) == tests.count("::") > 0, f"C{number}"
        assert {int(one) for *_, one in named} == {int(number)}, f"C{number}"


def test_the_page_names_all_tests_of_rows_and_no_others() -> None:
    written = {
        (path.name, name)
        for path in FOLDER.glob("test_*.py")
        for name in re.findall(r"^def (test_c\d\d_\w+)", path.read_text(), flags=re.MULTILINE)
    }
    named = {(file, name) for file, name, _ in NAMED.findall(PAGE.read_text())}
    assert named == written
