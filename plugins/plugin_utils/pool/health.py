# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the compute nodes of a pool are as its status says: the question between two passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.clients.kubernetes.selecting import Selection
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import Deadline
from ...module_utils.pool import keys
from ...module_utils.pool.pool_status import is_gone, silence
from ...module_utils.pool.reading import pod_facts
from ...module_utils.reporting.conditions import find
from ...module_utils.reporting.reasons import ConditionType, Reason
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
