# SPDX-License-Identifier: Apache-2.0
"""What is reported of the root credential; the action ``root_credential`` changes it."""

from __future__ import annotations

from ..reporting.events import Occurrence, occurrence
from .database_results import LoginResult


def problem(login: LoginResult) -> str:
    """Return why the database does not have the credential of its Secret; empty if it has."""
    if not login.problem:
        return ""
    return f"the credential of Secret {login.secret} is not in effect: {login.problem}"


def occurrences(login: LoginResult) -> list[Occurrence]:
    """Return an event when the database has got another credential."""
    if not login.rotated:
        return []
    note = f"the database has the root credential of Secret {login.secret}"
    return [occurrence("CredentialChanged", note, action="Update")]
