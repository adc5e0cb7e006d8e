# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.health); documented in plugins/modules/health.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.cluster.health_check import observe_sql
from ..module_utils.precheck.health_check import observe_health
from ..module_utils.reporting.health import Health
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Ask the processes of a set for a sign of life, or a cluster to answer SQL."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "workload": {"type": "dict"},
        "pods": {"type": "list", "elements": "dict", "default": []},
        "children": {"type": "dict"},
        "timeout": {"type": "float", "default": 6.0},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Ask once all Pods are ready; before that, Kubernetes says what is missing."""
        health = None if is_paused(arguments["resource"]) else _observed(session, arguments)
        if health is None:
            return {"changed": False, "asked": False, "health": {}}
        return {"changed": False, "asked": True, "health": health.as_result()}


def _observed(session: Session, arguments: dict[str, Any]) -> Health | None:
    resource, seconds = arguments["resource"], arguments["timeout"]
    if arguments["children"] is not None:
        return observe_sql(session, resource, arguments["children"], seconds)
    if not _is_up(arguments["workload"] or {}):
        return None
    return observe_health(session, resource, arguments["pods"], seconds)


def _is_up(workload: dict[str, Any]) -> bool:
    """Tell whether all Pods of a workload are ready, as far as its controller knows."""
    desired = int((workload.get("spec") or {}).get("replicas") or 0)
    return 0 < desired <= int((workload.get("status") or {}).get("readyReplicas") or 0)
