# SPDX-License-Identifier: Apache-2.0
"""Ask a database that is upgraded: how far its catalog is, and whether its canary answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api.timestamps import unix_time
from ..backup.verification.checks import Check
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import KubeError
from ..clients.kubernetes.session import Session
from ..clients.sql import LIVENESS, Entrance, LoginRefused, SqlError, ask_all
from ..upgrade.catalog import LAST_FAILURE, STATEMENTS, Catalog
from .logins import entrance, root_login

Json = Mapping[str, Any]

_STILL_SECONDS: Final = 30.0
"""How long a catalog has not moved when it is asked why. Most steps are done in less."""


def ask_catalog(session: Session, resource: Json, service: str, seconds: float) -> Catalog:
    """Log in as the root user and read the catalog; what went wrong is in the result.

    Args:
        session: connection to the API server.
        resource: the MatrixOneCluster.
        service: behind which SQL is answered.
        seconds: how long all answers together may take.
    """
    writer = Writer(session)
    try:
        place = entrance(writer, resource, service, root_login(writer, resource))
    except (KubeError, ValueError) as error:
        return Catalog(problem=str(error))
    asked = (LIVENESS, *((text, ()) for text in STATEMENTS))
    try:
        _alive, *rows = ask_all(place, asked, seconds)
        found = Catalog.of(*rows)
    except LoginRefused as error:
        return Catalog(problem=error.said())
    except SqlError as error:
        return Catalog(problem=error.said(), serves=error.refused and error.answered > 0)
    except ValueError as error:
        return Catalog(problem=f"the rows of the catalog cannot be read: {error}")
    return found if found.is_complete else _explained(found, resource, place, seconds)


def _explained(found: Catalog, resource: Json, place: Entrance, seconds: float) -> Catalog:
    """Return a catalog with what failed last, if it stands still and the log tells."""
    upgrade = (resource.get("status") or {}).get("upgrade") or {}
    moved = (upgrade.get("catalog") or {}).get("changedAt")
    if not moved or time.time() - unix_time(moved) < _STILL_SECONDS:
        return found
    try:
        (rows,) = ask_all(place, [LAST_FAILURE], seconds)
    except SqlError:
        return found
    return found.with_failure(rows)


def ask_canary(
    session: Session, resource: Json, service: str, wanted: Sequence[Check], seconds: float
) -> str:
    """Log in to the canary as the root user and run the user's statements there, once each.

    Args:
        session: connection to the API server.
        resource: the MatrixOneCluster.
        service: of the canary.
        wanted: checks whose statements have to succeed, in one session.
        seconds: how long all answers together may take.

    Returns:
        What is wrong; empty if all was answered.
    """
    writer = Writer(session)
    asked = (LIVENESS, *(one.statement for one in wanted))
    try:
        ask_all(entrance(writer, resource, service, root_login(writer, resource)), asked, seconds)
    except SqlError as error:
        which = f"{wanted[error.answered - 1].name}: " if error.answered else ""
        return f"{which}{error.said()}"
    except (KubeError, ValueError) as error:
        return str(error)
    return ""
