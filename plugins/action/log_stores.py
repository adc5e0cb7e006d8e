# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.log_stores); see plugins/modules/log_stores.py."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.api.errors import RenderingError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.logservice.log_set_objects import LogSetObjects
from ..module_utils.logservice.pass_input import PassInput
from ..module_utils.logservice.reconciler import LogServiceReconciler
from ..module_utils.logservice.removal import as_part, retention_deletes
from ..module_utils.logservice.volume_keeper import VolumeKeeper
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Replace log stores that are lost, and let surplus ones leave."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "workload": {"type": "dict"},
        "pods": {"type": "list", "elements": "dict", "default": []},
        "claims": {"type": "list", "elements": "dict", "default": []},
        "cluster": {"type": "dict"},
        "timeout": {"type": "float", "default": 8.0},
    }
    RULES: ClassVar[dict[str, Any]] = {"required_if": [("state", "present", ["workload"])]}

    def act(self, session: Session, arguments: Json) -> Json:
        """Take one step, if there is one to take."""
        resource = arguments["resource"]
        if self.dry_run or is_paused(resource):
            return {"changed": False, "stores": {}}
        if arguments["state"] == "absent":
            return _release_volumes(session, as_part(resource, arguments["cluster"]))
        pass_input = PassInput(
            resource, arguments["workload"], arguments["pods"], time.time(), arguments["claims"]
        )
        deadline = Deadline.after(arguments["timeout"])
        try:
            result = LogServiceReconciler(
                pass_input, LogSetObjects(session, resource), deadline
            ).run()
        except RenderingError:
            # What is wrong with the spec is reported by the plan.
            return {"changed": False, "stores": {}}
        return {"changed": result.changed, "stores": result.stores().as_result()}


def _release_volumes(session: Session, resource: Mapping[str, Any]) -> Json:
    """Release the volumes of replaced stores, if the data are to be deleted with the LogSet."""
    if not retention_deletes(resource.get("spec") or {}):
        return {"changed": False, "stores": {}}
    keeper = VolumeKeeper(resource, LogSetObjects(session, resource))
    keeper.release_all()
    return {"changed": bool(keeper.events), "stores": {"events": keeper.events}}
