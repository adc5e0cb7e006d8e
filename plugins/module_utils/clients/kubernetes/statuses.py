# SPDX-License-Identifier: Apache-2.0
"""Write the status subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .editing import outdated_where_seen
from .kinds import describe, object_path
from .session import APPLY_PATCH, Session


def write_status(
    session: Session,
    live: Mapping[str, Any],
    status: Mapping[str, Any],
    field_manager: str,
    *,
    dry_run: bool,
    unless_changed: bool = False,
) -> dict[str, Any]:
    """Apply a status: what it leaves out is removed, what other managers set stays.

    Args:
        session: connection to the API server.
        live: the object.
        status: the whole status.
        field_manager: name under which it is owned, with ``-status`` added to it.
        dry_run: let the server validate, but keep nothing.
        unless_changed: write only to this version of the object.

    Returns:
        The object as the server has it now.

    Raises:
        Outdated: it has another version.
        ApiError: the server refuses, or the object is gone.
    """
    metadata = live["metadata"]
    place = ("name", "namespace", *(["resourceVersion"] if unless_changed else []))
    body = {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {key: metadata[key] for key in place if key in metadata},
        "status": status,
    }
    query = {"fieldManager": f"{field_manager}-status", "force": "true"}
    if dry_run:
        query["dryRun"] = "All"
    with outdated_where_seen(body):
        answer: dict[str, Any] = session.request(
            "PATCH",
            f"{object_path(session, live)}/status",
            attempt=f"write the status of {describe(live)}",
            query=query,
            body=body,
            content_type=APPLY_PATCH,
        )
    return answer
