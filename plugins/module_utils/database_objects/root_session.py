# SPDX-License-Identifier: Apache-2.0
"""The session of root in which users and databases are brought to what is desired."""

from __future__ import annotations

from ..api.types import Resource
from ..clients.kubernetes.applying import Writer
from ..clients.sql import Entrance, LoginRefused, SqlError
from ..cluster.logins import entrance, root_login
from ..reporting.reasons import ObjectReason


class Refused(Exception):
    """Something cannot be brought to what is asked for; the message holds no secret.

    Attributes:
        reason: for the status.
    """

    def __init__(self, reason: ObjectReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def root(writer: Writer, cluster: Resource, service: str) -> Entrance:
    """Return how root logs in.

    Args:
        writer: of objects in Kubernetes.
        cluster: the MatrixOneCluster.
        service: behind which SQL is answered.

    Raises:
        Refused: it is not known.
    """
    try:
        return entrance(writer, cluster, service, root_login(writer, cluster))
    except ValueError as error:
        raise Refused(ObjectReason.DEPENDENCY_NOT_READY, str(error)) from None


def refusal(error: SqlError, message: str) -> Refused:
    """Return what is reported of a session of root that failed.

    Args:
        error: what ended it.
        message: what is said where root could log in; it holds no secret.
    """
    if isinstance(error, LoginRefused):
        return Refused(ObjectReason.DEPENDENCY_NOT_READY, f"as root, {error}")
    reason = ObjectReason.STATEMENT_REFUSED if error.refused else ObjectReason.SQL_NOT_ANSWERED
    return Refused(reason, message)
