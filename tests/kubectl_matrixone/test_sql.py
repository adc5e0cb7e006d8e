# SPDX-License-Identifier: Apache-2.0
"""Parts of a SQL session that need no database."""

import configparser

import pytest

from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.sql import Login, address_of, option_file, statements_in


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


def cluster(reason: str = "AllSetsReady", **status: object) -> dict[str, object]:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": "as asked"}
    return {"metadata": {"name": "mo"}, "status": {"conditions": [ready], **status}}


def test_the_address_is_that_of_the_status() -> None:
    assert address_of(cluster(host="mo-proxy.prod", port=6001)) == "mo-proxy.prod:6001"


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (cluster(), "mo answers no SQL yet: its status names no host"),
        (cluster(host="mo-proxy.prod"), "mo answers no SQL yet"),
        (
            cluster("Hibernated", host="mo-proxy.prod", port=6001),
            "mo hibernates; wake it by kubectl matrixone wake mo",
        ),
        (cluster("Stopped", host="mo-tp-cn.prod", port=6001), "mo is stopped: as asked"),
    ],
)
def test_where_nothing_answers_nobody_waits_for_an_answer(
    one: dict[str, object], said: str
) -> None:
    with pytest.raises(PluginError, match=f"^{said}"):
        address_of(one)
