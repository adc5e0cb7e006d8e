# SPDX-License-Identifier: Apache-2.0
"""Ask a database that is upgraded: how far its catalog is, and whether its canary answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..backup.verification.checks import Check
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import KubeError
from ..clients.kubernetes.session import Session
from ..clients.sql import LIVENESS, LoginRefused, SqlError, ask_all
from ..upgrade.catalog import STATEMENTS, Catalog
from .logins import entrance, root_login

Json = Mapping[str, Any]


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
        return Catalog.of(*rows)
    except LoginRefused as error:
        return Catalog(problem=error.said())
    except SqlError as error:
        return Catalog(problem=error.said(), serves=error.refused and error.answered > 0)
    except ValueError as error:
        return Catalog(problem=f"the rows of the catalog cannot be read: {error}")


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
