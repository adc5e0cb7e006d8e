# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.tn_stores); see plugins/modules/tn_stores.py."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from ..module_utils.api.errors import RenderingError
from ..module_utils.api.pod_addresses import log_addresses
from ..module_utils.api.pods import live_pods
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.passes import hakeeper
from ..module_utils.passes.pod_writer import PodWriter
from ..module_utils.passes.set_objects import SetObjects
from ..module_utils.reporting.events import Occurrence
from ..module_utils.reporting.health import is_isolated, is_settled
from ..module_utils.transaction import served_shards
from ..module_utils.transaction.lost_pods import release
from ..module_utils.transaction.restarting import follow_silence
from ..module_utils.transaction.served_shards import ServedShards
from ..module_utils.transaction.silence import Silence
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Ask which shards transaction nodes serve; force-delete their Pods on nodes that are dead."""

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
        found_at = _log_service(session, arguments)
        deadline = Deadline.after(arguments["timeout"])
        try:
            served = served_shards.ask(resource, arguments["workload"], found_at, deadline)
            objects, now = SetObjects(session, resource), time.time()
            found = release(objects, resource, arguments["pods"], served, found_at, deadline, now)
        except RenderingError:
            # What is wrong with the spec is reported by the plan.
            return {"changed": False, "stores": {}}
        events = [*found.events, *_after_silence(session, arguments, served)]
        stores = served.stores(events, found.blocked)
        return {"changed": bool(events), "stores": stores.as_result()}


def _after_silence(session: Session, arguments: Json, served: ServedShards) -> list[Occurrence]:
    """Restart nodes that were silent while compute nodes were heard."""
    now = time.time()
    settled = is_settled(arguments["log_set"] or None, served.log_stores, now)
    silences = {
        pod: Silence(silent, is_isolated(silent, served.compute_nodes, settled=settled))
        for pod, silent in served.silent.items()
    }
    return follow_silence(PodWriter(Writer(session)), arguments["pods"], silences, now)


def _log_service(session: Session, arguments: Json) -> list[str]:
    """Return where HAKeeper may be; empty when no log store runs."""
    log_set = arguments["log_set"]
    if not log_set:
        return hakeeper.external(arguments["resource"])
    return log_addresses(live_pods(hakeeper.members(session, log_set)))
