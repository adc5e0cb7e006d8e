# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.tn_stores); see plugins/modules/tn_stores.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api.errors import RenderingError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.compute import pods as cn_pods
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.set_objects import SetObjects
from ..plugin_utils.logservice import addresses
from ..plugin_utils.transaction import served_shards
from ..plugin_utils.workload.lost_pods import force_delete

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Ask which shards transaction nodes serve, and force-delete their Pods on lost nodes."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "workload": {"type": "dict", "required": True},
        "pods": {"type": "list", "elements": "dict", "default": []},
        "log_set": {"type": "dict"},
        "timeout": {"type": "float", "default": 8.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Ask first: what is served must be known before Pods are replaced."""
        resource = arguments["resource"]
        if self.dry_run or is_paused(resource):
            return {"changed": False, "stores": {}}
        served = _served(session, arguments)
        events = force_delete(SetObjects(session, resource), arguments["pods"])
        return {"changed": bool(events), "stores": {**served, "events": events}}


def _served(session: Session, arguments: Json) -> Json:
    """Ask which shards transaction nodes serve; nothing where the spec cannot be read."""
    resource, log_set = arguments["resource"], arguments["log_set"]
    pods = cn_pods.live_pods(addresses.members(session, log_set))
    found = cn_pods.log_addresses(pods) if log_set else addresses.external(resource)
    deadline = Deadline.after(arguments["timeout"])
    try:
        return served_shards.ask(resource, arguments["workload"], found, deadline).as_result()
    except RenderingError:
        return {}
