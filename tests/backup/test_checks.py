# SPDX-License-Identifier: Apache-2.0
"""Statements that read a database, and the comparison of answers."""

import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification import (
    checks,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification.checks import (
    Check,
)
from hypothesis import example, given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("rows", "answer", "said"),
    [
        (None, [(1,)], ""),
        ([[3]], [(3,)], ""),
        ([["3"]], [(Decimal(3),)], ""),
        ([[True, None]], [("true", None)], ""),
        ([["2026-11-22"]], [(date(2026, 11, 22),)], ""),
        ([["text"]], [(b"text",)], ""),
        ([], [], ""),
        ([], [(1,)], "(1) instead of no rows"),
        ([[1]], [], "no rows instead of (1)"),
        ([[None]], [("NULL",)], "(NULL) instead of (NULL)"),
        ([[1], [2]], [(2,), (1,)], "(2), (1) instead of (1), (2)"),
        ([[1]], [(1,)] * 5, "(1), (1), (1) and 2 more rows instead of (1)"),
    ],
)
def test_answers_are_compared_as_text(rows: Any, answer: Any, said: str) -> None:
    assert Check.of({"sql": "select", "rows": rows}).differs(answer) == said


def test_a_check_without_a_name_is_called_by_its_statement() -> None:
    check = Check.of({"sql": "select 'a%' like 'a%%'"})
    assert check.name == check.sql
    text, values = check.statement
    assert text % values == check.sql


_IDENTIFIER = re.compile(r"`(?:[^`]|``)*`")


@given(st.text(min_size=1), st.lists(st.text(min_size=1), min_size=1, max_size=3))
@example(name="`", columns=["``"])
def test_names_are_quoted_whatever_they_are(name: str, columns: list[str]) -> None:
    text, values = checks.reading(name, name, columns)
    sent = text % values
    assert len(_IDENTIFIER.findall(sent)) == 2 + len(columns)
    assert "`" not in _IDENTIFIER.sub("", sent)
    quoted = "`" + name.replace("`", "``") + "`"
    assert sent.endswith(f"FROM {quoted}.{quoted}")
