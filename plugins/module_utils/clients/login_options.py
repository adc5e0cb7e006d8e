# SPDX-License-Identifier: Apache-2.0
"""Options of actions that log in to a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .sql import Entrance

LOGIN: Final[dict[str, Any]] = {
    "login_host": {"type": "str", "required": True},
    "login_port": {"type": "int", "default": 6001},
    "login_user": {"type": "str", "required": True},
    "login_password": {"type": "str", "required": True, "no_log": True},
    "login_certificates": {"type": "str", "default": ""},
}
"""Argument spec; ``documentation`` is in ``doc_fragments/login.py``, but for the user, whose
rights differ."""


def entrance_of(arguments: Mapping[str, Any]) -> Entrance:
    """Return where and as whom to log in.

    Args:
        arguments: validated.
    """
    return Entrance(
        host=arguments["login_host"],
        port=arguments["login_port"],
        user=arguments["login_user"],
        password=arguments["login_password"],
        trusted=arguments["login_certificates"],
    )
