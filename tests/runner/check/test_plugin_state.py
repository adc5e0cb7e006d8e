# SPDX-License-Identifier: Apache-2.0
"""What plugins keep in memory between runs."""

import pytest

from ansible_operator.check.plugin_state import kept_by


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("SEEN = []\ndef f(x):\n    SEEN.append(x)\n", [("SEEN", 3)]),
        ("SEEN: dict = {}\ndef f(x):\n    SEEN[x] = 1\n", [("SEEN", 3)]),
        ("from a import deque\nSEEN = deque()\ndef f(x):\n    SEEN.pop()\n", [("SEEN", 4)]),
        ("session = None\ndef f():\n    global session\n    session = 1\n", [("session", 4)]),
        ("import functools\n@functools.lru_cache(maxsize=9)\ndef f(): ...\n", [("f", 2)]),
        ("from functools import cache\nclass A:\n    @cache\n    def f(self): ...\n", [("f", 3)]),
        ("SEEN = []\ndef f(x):\n    SEEN = []\n    SEEN.append(x)\n", []),
        ("SEEN = []\ndef f(SEEN):\n    SEEN.append(1)\n", []),
        ("NAMES = ['a']\ndef f(x):\n    return x in NAMES\n", []),
        ("NAMES = []\nNAMES.append('a')\n", []),
        ("def f(x):\n    seen = []\n    seen.append(x)\n    return seen\n", []),
    ],
)
def test_what_outlives_a_run(source: str, expected: list[tuple[str, int]]) -> None:
    assert [(kept.name, kept.line) for kept in kept_by(source)] == expected


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        (
            "  # ansible-operator: kept, the key has the id of the process",
            "the key has the id of the process",
        ),
        ("  # ansible-operator: kept", ""),
        ("  # ansible-operator: kept, ", ""),
        ("", ""),
    ],
)
def test_what_is_kept_on_purpose_has_its_reason(comment: str, reason: str) -> None:
    [kept] = kept_by(f"SEEN = []\ndef f(x):\n    SEEN.append(x){comment}\n")
    assert kept.reason == reason


def test_what_is_no_python() -> None:
    with pytest.raises(SyntaxError):
        kept_by("def f(:")
