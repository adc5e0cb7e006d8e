# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.claim); documented in plugins/modules/claim.py."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError, NotFound, WaitExpired
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes.observing import fetch
from ..module_utils.reporting.conditions import find, holds
from ..module_utils.reporting.reasons import ConditionType
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes

Json = dict[str, Any]

_FIRST_PAUSE = 0.1  # seconds
_LONGEST_PAUSE = 2.0  # seconds
_UNSEEN = "nobody has looked at it yet; an operator must run, and look after its namespace"


class ActionModule(KubeAction):
    """Get a compute node of a pool for a tenant, or give it back."""

    SPEC: ClassVar[dict[str, Any]] = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str", "default": "default"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "selector": {"type": "dict"},
        "pool": {"type": "str"},
        "labels": {"type": "dict", "default": {}},
        "owner": {"type": "str"},
        "priority": {"type": "int"},
        "pod_labels": {"type": "dict"},
        "timeout": {"type": "int", "default": 120},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Apply or delete the CNClaim, and wait until it has its Pod."""
        claim = _manifest(arguments)
        writer = Writer(
            session=session, listed={}, field_manager=FIELD_MANAGER, dry_run=self.dry_run
        )
        changes = Changes()
        absent = arguments["state"] == "absent"
        try:
            changes.add([writer.delete(claim) if absent else writer.apply(claim)])
        except KubeError as error:
            return changes.failed(error)
        done = changes.result(diff=self._task.diff)
        result: Json = {key: done[key] for key in ("changed", "diff") if key in done}
        if absent or self.dry_run:
            return result
        return {**result, **self._bound(session, claim, arguments["timeout"])}

    def _bound(self, session: Session, claim: Json, timeout: int) -> Json:
        """Wait until the claim has a Pod that serves; show what it waits for."""
        begun, pause, shown = time.monotonic(), _FIRST_PAUSE, ""
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        while True:
            found = _fetched(session, claim)
            if holds(found, ConditionType.READY):
                return _result(found, time.monotonic() - begun)
            message = str(find(found, ConditionType.READY).get("message") or _UNSEEN)
            if (found.get("status") or {}).get("phase") == "Lost":
                raise KubeError(f"CNClaim {namespace}/{name} is lost: {message}; delete it")
            if message != shown:
                shown = message
                self.say(f"CNClaim {namespace}/{name}: {shown}")
            if time.monotonic() - begun + pause > timeout:
                waited = f"CNClaim {namespace}/{name} has no compute node after {timeout} s"
                raise WaitExpired(f"{waited}: {shown}")
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)


def _manifest(arguments: Mapping[str, Any]) -> Json:
    labels = [
        {"key": key, "values": value if isinstance(value, list) else [value]}
        for key, value in sorted(arguments["labels"].items())
    ]
    optional = {
        "cnLabels": labels,
        "poolName": arguments["pool"],
        "ownerName": arguments["owner"],
        "priority": arguments["priority"],
        "additionalPodLabels": arguments["pod_labels"],
    }
    spec = {key: value for key, value in optional.items() if value not in (None, [], {})}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.CN_CLAIM,
        "metadata": {"name": arguments["name"], "namespace": arguments["namespace"]},
        "spec": {"selector": arguments["selector"] or {}, **spec},
    }


def _fetched(session: Session, claim: Json) -> Json:
    metadata = claim["metadata"]
    reference = {"api_version": names.API_VERSION, "kind": names.CN_CLAIM, **metadata}
    found = fetch(session, "claim", reference)
    if found is None:
        where = f"{metadata['namespace']}/{metadata['name']}"
        raise NotFound(f"CNClaim {where} was deleted meanwhile", 404, "NotFound", [])
    return dict(found)


def _result(claim: Json, seconds: float) -> Json:
    spec, store = claim["spec"], claim["status"].get("store") or {}
    return {
        "pool": spec.get("poolName", ""),
        "pod": spec.get("podName", ""),
        "node": spec.get("nodeName", ""),
        "sql_address": store.get("sqlAddress", ""),
        "service_id": store.get("serviceID", ""),
        "seconds": round(seconds, 1),
    }
