# SPDX-License-Identifier: Apache-2.0
"""What is reported of the root credential; the action ``root_credential`` changes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..reporting.events import Occurrence, occurrence

Result = Mapping[str, Any]
"""With ``login``, the ``credential`` that the action returned, where it was needed and reached."""


def problem(result: Result) -> str:
    """Return why the database does not have the credential of its Secret; empty if it has."""
    login = result.get("login") or {}
    if not login.get("problem"):
        return ""
    return f"the credential of Secret {login['secret']} is not in effect: {login['problem']}"


def occurrences(result: Result) -> list[Occurrence]:
    """Return an event when the database has got another credential."""
    login = result.get("login") or {}
    if not login.get("rotated"):
        return []
    note = f"the database has the root credential of Secret {login['secret']}"
    return [occurrence("CredentialChanged", note, action="Update")]
