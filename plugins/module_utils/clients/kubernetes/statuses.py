# SPDX-License-Identifier: Apache-2.0
"""Write the status subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kinds import describe, object_path
from .session import APPLY_PATCH, Session


def write_status(
    session: Session,
    live: Mapping[str, Any],
    status: Mapping[str, Any],
    field_manager: str,
    *,
    dry_run: bool,
) -> dict[str, Any]:
    """Apply a status: what it leaves out is removed, what other managers set stays.

    Returns:
        The object as the server has it now.

    Raises:
        ApiError: the server refuses, or the object is gone.
    """
    metadata = live["metadata"]
    body = {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "status": status,
    }
    query = {"fieldManager": f"{field_manager}-status", "force": "true"}
    if dry_run:
        query["dryRun"] = "All"
    answer: dict[str, Any] = session.request(
        "PATCH",
        f"{object_path(session, live)}/status",
        attempt=f"write the status of {describe(live)}",
        query=query,
        body=body,
        content_type=APPLY_PATCH,
    )
    return answer
