# SPDX-License-Identifier: Apache-2.0
"""Which conditionals are booleans."""

import pytest

from ansible_operator.check.conditions import Kind, kind_of
from ansible_operator.check.variables import Variables

KNOWN = Variables(
    {"flag": True, "text": "", "listed": [], "template": "{{ other }}", "nothing": None},
    {
        "fact": [True, "{{ users | length > 0 }}", "{{ users is defined and flag }}"],
        "doubtful": [True, "{{ users }}"],
        "mixed": [True, "yes"],
        "folder": ["/tmp/{{ users }}"],
        "endless": ["{{ endless or again }}"],
        "again": ["{{ endless }}"],
        "flag": ["a value that the default hides"],
    },
    frozenset({"result"}),
)
BOOLEAN, UNKNOWN, OTHER = Kind


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("true", BOOLEAN),
        ("flag", BOOLEAN),
        ("not users", BOOLEAN),
        ("not users | length", BOOLEAN),
        ("users | length > 0", BOOLEAN),
        ("users is defined", BOOLEAN),
        ("users is defined and users | length > 0", BOOLEAN),
        ("'a' in users", BOOLEAN),
        ("users | bool", BOOLEAN),
        ("flag | default(false)", BOOLEAN),
        ("true if users else false", BOOLEAN),
        ("fact", BOOLEAN),
        ("fact | default(false)", BOOLEAN),
        ("users | ternary(flag, true)", BOOLEAN),
        ("(fact | default(false)) | ternary(users | int < 3, true)", BOOLEAN),
        ("result.changed", BOOLEAN),
        ("result['failed']", BOOLEAN),
        ("users.changed", UNKNOWN),
        ("result.found", UNKNOWN),
        ("doubtful", UNKNOWN),
        ("mixed", UNKNOWN),
        ("folder", UNKNOWN),
        ("endless", UNKNOWN),
        ("users | ternary('a', true)", OTHER),
        ("users", UNKNOWN),
        ("template", UNKNOWN),
        ("users.present", UNKNOWN),
        ("users['present']", UNKNOWN),
        ("users | default(false)", UNKNOWN),
        ("users | acme.tools.judge", UNKNOWN),
        ("lookup('env', 'X')", UNKNOWN),
        ("users is defined and users", UNKNOWN),
        ("text", OTHER),
        ("listed", OTHER),
        ("nothing", OTHER),
        ("users | length", OTHER),
        ("users | default('')", OTHER),
        ("users | default([]) | length", OTHER),
        ("users is defined and users | length", OTHER),
        ("flag or 'yes'", OTHER),
        ("'a' ~ users", OTHER),
        ("[users]", OTHER),
        ("1", OTHER),
        ("true if users else 'no'", OTHER),
    ],
)
def test_what_a_conditional_results_in(expression: str, expected: Kind) -> None:
    assert kind_of(expression, KNOWN) is expected


@pytest.mark.parametrize("expression", ["users is", "users | ", "(a", "{{ a }}"])
def test_what_is_no_expression(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        kind_of(expression, KNOWN)
