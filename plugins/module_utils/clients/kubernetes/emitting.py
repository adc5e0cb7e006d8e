# SPDX-License-Identifier: Apache-2.0
"""Emit Kubernetes Events."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from .kinds import collection_path, describe
from .session import Session

CONTROLLER = "matrixorigin.io/matrixone"
_CONTROLLERS = {"matrixone.matrixorigin.cn/v1alpha1": "matrixone-operator"}
"""Under another name for a kind whose users know it so."""


def emit(session: Session, regarding: Mapping[str, Any], event: Mapping[str, Any]) -> None:
    """Create an ``events.k8s.io/v1`` Event about an object.

    Args:
        session: connection to the API server.
        regarding: the live object.
        event: type, reason, action and note.

    Raises:
        ApiError: the server refuses.
    """
    metadata = regarding["metadata"]
    namespace = metadata.get("namespace") or "default"
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name'][:200]}.{secrets.token_hex(8)}",
            "namespace": namespace,
        },
        "eventTime": moment,
        "reportingController": _CONTROLLERS.get(regarding["apiVersion"], CONTROLLER),
        "reportingInstance": socket.gethostname()[:128] or CONTROLLER,
        "action": event["action"],
        "reason": event["reason"],
        "note": event["note"],
        "type": event["type"],
        "regarding": {
            "apiVersion": regarding["apiVersion"],
            "kind": regarding["kind"],
            "name": metadata["name"],
            "namespace": metadata.get("namespace") or "",
            "uid": metadata["uid"],
        },
    }
    session.request(
        "POST",
        collection_path(session, "events.k8s.io/v1", "Event", namespace),
        attempt=f"emit an event about {describe(regarding)}",
        body=body,
    )
