# SPDX-License-Identifier: Apache-2.0
"""Passwords that every policy of MatrixOne accepts, and what it says of those that it refuses.

From 2.0.1 on, ``validate_password`` and its rules apply to all users, and ``password_history`` and
``password_reuse_interval`` to all but ``dump`` and ``root``. Some refusals quote the password:
only sentences that are known are reported, and without it (MatrixOne's
pkg/frontend/password_management.go and session.go, 2.0.1 to 4.2.0).
"""

from __future__ import annotations

import re
import secrets
import string
from typing import Final

_SPECIAL: Final = "-._~"
"""No shell, URL or file of settings has a meaning for them."""
_PARTS: Final = (
    (string.ascii_lowercase, 10),
    (string.ascii_uppercase, 10),
    (string.digits, 6),
    (_SPECIAL, 6),
)


def random_password() -> str:
    """Return a password of 32 characters, of each kind at least six; it begins with a letter."""
    chooser = secrets.SystemRandom()
    chosen = [chooser.choice(kind) for kind, count in _PARTS for _place in range(count)]
    first = chosen.pop(chooser.randrange(20))
    chooser.shuffle(chosen)
    return first + "".join(chosen)


_QUOTED: Final = r"Password '.*' "
_RULES: Final = tuple(
    (re.compile(pattern, re.DOTALL), advice)
    for pattern, advice in (
        (rf"{_QUOTED}(is too short, require at least \d+ characters)", "validate_password.length"),
        (
            rf"{_QUOTED}(does not meet the (?:Lowercase|Uppercase) requirements)",
            "validate_password.mixed_case_count",
        ),
        (
            rf"{_QUOTED}(does not meet the Number requirements)",
            "validate_password.number_count",
        ),
        (
            rf"{_QUOTED}(does not meet the Special Char requirements)",
            "validate_password.special_char_count",
        ),
        (
            rf"{_QUOTED}(does not contain enough changed characters)",
            "validate_password.changed_characters_percentage",
        ),
        (
            rf"{_QUOTED}(euqals the (?:reversed )?user name)",
            "validate_password.check_user_name",
        ),
        (
            r"(The password has been used before, please change another one)",
            "password_history, password_reuse_interval",
        ),
    )
)
_CHOOSE: Final = "the previous password stays valid: put another one into the Secret"
_LOGINS: Final = (
    (
        "user is locked, please ask the administrator to unlock",
        "another administrator has to run ALTER USER name UNLOCK",
    ),
    (
        "user is locked, please try again later",
        "connection_control_max_connection_delay, or ALTER USER name UNLOCK, ends that",
    ),
    (
        "password has expired, please change the password",
        "default_password_lifetime is over: put another password into the Secret",
    ),
    (
        "is not in the invited nodes",
        "add the address of the operator to the variable invited_nodes",
    ),
)


def broken_rule(words: str) -> str:
    """Return what MatrixOne said of a password that breaks a rule, and the rule; empty if nothing.

    Args:
        words: of the database; they may quote the password, which is left out.
    """
    for pattern, rule in _RULES:
        if match := pattern.search(words):
            said = match.group(1)
            text = said if said.startswith("The ") else f"the password {said}"
            return f"{text} ({rule}); {_CHOOSE}"
    return ""


def login_problem(words: str) -> str:
    """Return why MatrixOne lets a user do nothing, and what to do; empty if that is unknown.

    Args:
        words: of the database, which may hold anything.
    """
    return next((f"{said}; {advice}" for said, advice in _LOGINS if said in words), "")
