# SPDX-License-Identifier: Apache-2.0
"""Parts of a SQL session that need no database."""

import configparser

import pytest

from kubectl_matrixone.sql import Login, option_file, statements_in


@pytest.mark.parametrize(
    ("lines", "statements"),
    [
        ([], []),
        (["select 1;"], ["select 1"]),
        (["select", "1;", "select 2"], ["select\n1", "select 2"]),
        (["select ';'", ";"], ["select ';'\n"]),
        (["", "  ", "select 1 ;  "], ["select 1 "]),
    ],
)
def test_a_line_that_ends_with_a_semicolon_ends_a_statement(
    lines: list[str], statements: list[str]
) -> None:
    assert list(statements_in(lines)) == statements


def test_the_password_of_the_client_is_in_a_file_and_nowhere_else() -> None:
    login = Login("acc:dump", 'a"b\\c#d')
    assert "a" not in repr(login).removeprefix("Login(user='acc:dump'")
    found = configparser.RawConfigParser()
    found.read_string(option_file(6001, login))
    assert dict(found["client"]) == {
        "host": '"127.0.0.1"',
        "port": '"6001"',
        "user": '"acc:dump"',
        "password": '"a\\"b\\\\c#d"',
    }
