# SPDX-License-Identifier: Apache-2.0
"""Passwords that no policy refuses, and refusals that are reported without the password."""

import string

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.passwords import (
    broken_rule,
    login_problem,
    random_password,
)
from hypothesis import given
from hypothesis import strategies as st

MANY = [random_password() for _ in range(500)]
"""Without the rules, a third of so many passwords would have no special character."""


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (string.ascii_lowercase, 6),
        (string.ascii_uppercase, 6),
        (string.digits, 6),
        ("-._~", 6),
        (string.ascii_letters, 20),
    ],
)
def test_each_password_has_enough_of_each_kind(kind: str, least: int) -> None:
    assert all(sum(one in kind for one in password) >= least for password in MANY)


def test_passwords_are_long_and_none_is_like_another() -> None:
    assert {len(password) for password in MANY} == {32}
    assert len(set(MANY)) == len(MANY)
    assert all(password[0].isalpha() for password in MANY)
    assert all(len({password[at] for password in MANY}) > 20 for at in range(32))


RULES = [
    ("is too short, require at least 40 characters", "validate_password.length"),
    ("does not meet the Lowercase requirements", "validate_password.mixed_case_count"),
    ("does not meet the Uppercase requirements", "validate_password.mixed_case_count"),
    ("does not meet the Number requirements", "validate_password.number_count"),
    ("does not meet the Special Char requirements", "validate_password.special_char_count"),
    ("does not contain enough changed characters", "changed_characters_percentage"),
    ("euqals the user name 'dump'", "validate_password.check_user_name"),
    ("euqals the reversed user name 'dump'", "validate_password.check_user_name"),
]


@pytest.mark.parametrize(("said", "rule"), RULES)
@given(password=st.text(alphabet=string.printable + "'é", min_size=1, max_size=40))
def test_a_rule_is_named_without_the_password(said: str, rule: str, password: str) -> None:
    """Whatever is in it: quotes, line breaks, or the words of the rule themselves."""
    words = f"invalid input: Password '{password}' {said}"
    marked = f"invalid input: Password '{password}SECRET' {said}"
    assert rule in broken_rule(words)
    assert said.split(" '", maxsplit=1)[0] in broken_rule(words)
    assert broken_rule(marked) == broken_rule(words)
    assert "previous password stays valid" in broken_rule(words)


def test_a_password_of_before_is_named_so() -> None:
    words = "invalid input: The password has been used before, please change another one."
    assert broken_rule(words).startswith("The password has been used before")
    assert "password_history, password_reuse_interval" in broken_rule(words)


@pytest.mark.parametrize(
    "words",
    ["", "syntax error near 'alter user dump identified by \"geheim\"'", "Password 'x'", "no: y"],
)
def test_other_words_are_not_shown(words: str) -> None:
    """They may quote the statement."""
    assert broken_rule(words) == ""
    assert login_problem(words) == ""


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("internal error: user is locked, please ask the administrator to unlock", "UNLOCK"),
        ("internal error: user is locked, please try again later", "max_connection_delay"),
        ("internal error: password has expired, please change the password", "Secret"),
        ("invalid input: IP 10.0.0.7 is not in the invited nodes", "invited_nodes"),
    ],
)
def test_who_is_kept_out_learns_why(words: str, advice: str) -> None:
    assert advice in login_problem(words)
    assert login_problem(words).split(";")[0] in words
