# SPDX-License-Identifier: Apache-2.0
"""Whether a database answers SQL again, once all its components serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import KubeError
from ..clients.kubernetes.session import Session
from ..clients.sql import LIVENESS, LoginRefused, SqlError, ask
from ..reporting.health import Health
from .entrances import service_to_confirm
from .logins import entrance, root_login

Json = Mapping[str, Any]


def observe_sql(session: Session, resource: Json, children: Json, seconds: float) -> Health | None:
    """Log in as a client does before a cluster is reported Ready; None where nothing is asked.

    A compute node that HAKeeper hears, and a proxy that greets, may still be waiting for the
    transaction node: `no available CN server`. An idle cluster that is Ready is not asked.

    Args:
        session: connection to the API server.
        resource: the MatrixOneCluster.
        children: its live components by ``Kind/name``.
        seconds: how long the answer may take.
    """
    service = service_to_confirm(dict(resource), list(children.values()))
    if not service:
        return None
    writer = Writer(session)
    try:
        login = root_login(writer, resource)
    except ValueError:
        # Synced says which Secret is missing or wrong.
        return None
    try:
        ask(entrance(writer, resource, service, login), LIVENESS, seconds)
    except LoginRefused:
        return Health()
    except SqlError as error:
        return _unanswered(service, error.said())
    except (KubeError, ValueError) as error:
        return _unanswered(service, str(error))
    return Health()


def _unanswered(service: str, why: str) -> Health:
    return Health(lacking=f"an answer to a login through Service {service}: {why}")
