# SPDX-License-Identifier: Apache-2.0
"""Ask databases whether they answer a login: unlike a greeting, that takes the whole database."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from .sql import LIVENESS, Entrance, SqlError, ask

_NOBODY: Final = "matrixone_health"
"""No user: to refuse it, the database has to look for it in its tables."""


def answering(addresses: Mapping[str, tuple[str, int]], seconds: float) -> dict[str, bool]:
    """Return whether each server answered a login, by name; not those that cannot be reached.

    All are asked at the same time. An error that a server sends is an answer.

    Args:
        addresses: IP address and port of each server by name.
        seconds: how long to wait for the answers.
    """
    if not addresses:
        return {}
    with ThreadPoolExecutor(len(addresses)) as threads:
        asked = {
            name: threads.submit(_answers, host, port, seconds)
            for name, (host, port) in addresses.items()
        }
        found = {name: answer.result() for name, answer in asked.items()}
    return {name: answer for name, answer in found.items() if answer is not None}


def _answers(host: str, port: int, seconds: float) -> bool | None:
    """Return whether a server answers a login; None where it does not accept the connection."""
    try:
        ask(Entrance(host, port, _NOBODY, ""), LIVENESS, seconds)
    except SqlError as error:
        if not error.connected:
            return None
        return error.refused
    return True
