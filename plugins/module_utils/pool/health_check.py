# SPDX-License-Identifier: Apache-2.0
"""Whether the compute nodes of a pool are as its status says: the question between two passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline
from ..reporting.conditions import find
from ..reporting.reasons import ConditionType, Reason
from . import keys
from .pool_status import is_gone, silence
from .reading import pod_facts
from .stores import open_stores


def is_heard(session: Session, pool: Mapping[str, Any], seconds: float) -> bool:
    """Tell whether just those Pods of a pool are silent that its status names.

    Args:
        session: connection to the API server.
        pool: the CNPool, with its status.
        seconds: how long all questions together may take.
    """
    metadata = pool["metadata"]
    labels = {keys.LABEL_POOL: metadata["name"]}
    found = Selection("v1", "Pod", metadata["namespace"], labels).list(session)
    pods = {pod["metadata"]["name"]: pod for pod in found if not is_gone(pod_facts(pod))}
    with open_stores(session, pool, pods, Deadline.after(seconds)) as stores:
        reached, facts = stores.reached, stores.facts
    if pods and not reached:
        return _reported(pool, Reason.HAKEEPER_UNREACHABLE) is not None
    silent = sorted(name for name, store in facts.items() if store.silent)
    return _reported(pool, Reason.STORES_FAILED) == (silence(silent) if silent else None)


def _reported(pool: Mapping[str, Any], reason: Reason) -> str | None:
    """Return what a status says is degraded for a reason; None where it does not."""
    degraded = find(pool, ConditionType.DEGRADED)
    reported = degraded.get("status") == "True" and degraded.get("reason") == reason
    return str(degraded.get("message")) if reported else None
