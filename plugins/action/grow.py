# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.grow); see plugins/modules/grow.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import Refused, WaitExpired
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.outcomes import Change
from ..module_utils.clients.kubernetes.selecting import Selection
from ..module_utils.clients.kubernetes.session import Session
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]
_PAUSE = 0.2  # seconds
_RETAIN = {"whenDeleted": "Retain", "whenScaled": "Retain"}


class ActionModule(KubeAction):
    """Grow the claims of a StatefulSet and recreate it with larger claim templates."""

    SPEC: ClassVar[dict[str, Any]] = {
        "workload": {"type": "dict", "required": True},
        "claims": {"type": "list", "elements": "dict", "default": []},
        "templates": {"type": "list", "elements": "dict", "default": []},
        "timeout": {"type": "float", "default": 60.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Grow the claims, then the templates; each part may have been done before."""
        writer = Writer(session, dry_run=self.dry_run)
        grown, refused = [], ""
        for claim in arguments["claims"]:
            try:
                outcome = writer.patch(claim)
            except Refused as error:
                refused = str(error)
                break
            if outcome.change is not Change.UNCHANGED:
                grown.append(claim["metadata"]["name"])
        recreated = bool(arguments["templates"]) and not refused
        if recreated and not self.dry_run:
            _recreate(writer, arguments)
        return {
            "changed": bool(grown) or recreated,
            "volumes": {
                "grown": grown,
                "remade": recreated and not self.dry_run,
                "refused": refused,
            },
        }


def _recreate(writer: Writer, arguments: Json) -> None:
    """Replace a StatefulSet by the same one with other claim templates; its Pods live on."""
    workload = arguments["workload"]
    live = writer.get(workload)
    if live is not None and live["metadata"]["uid"] == workload["metadata"]["uid"]:
        _delete(writer, live, arguments["timeout"])
        live = None
    if live is None:
        writer.apply(_recreated(workload, arguments["templates"]))


def _delete(writer: Writer, live: Json, timeout: float) -> None:
    """Delete a StatefulSet without its Pods.

    While it owns its claims, the garbage collector might delete them with it.
    """
    title, uid = describe(live), live["metadata"]["uid"]
    if not live["metadata"].get("deletionTimestamp"):
        policy = {"persistentVolumeClaimRetentionPolicy": _RETAIN}
        writer.patch({**_identity(live), "spec": policy})
        _until(lambda: not _owned(writer, live, uid), timeout, f"{title} to release its claims")
        writer.delete(_identity(live), "Orphan")
    _until(lambda: _is_gone(writer, live), timeout, f"{title} to be deleted without its Pods")


def _identity(live: Mapping[str, Any]) -> Json:
    place = {key: live["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": place}


def _owned(writer: Writer, live: Mapping[str, Any], uid: str) -> list[Json]:
    """Return the claims that would be deleted with the StatefulSet."""
    labels = live["spec"]["selector"]["matchLabels"]
    namespace = live["metadata"]["namespace"]
    chosen = Selection("v1", "PersistentVolumeClaim", namespace, labels, owner_uid=uid)
    return chosen.list(writer.session)


def _is_gone(writer: Writer, live: Mapping[str, Any]) -> bool:
    found = writer.get(live)
    return found is None or bool(found["metadata"]["uid"] != live["metadata"]["uid"])


def _until(holds: Callable[[], bool], timeout: float, what: str) -> None:
    deadline = time.monotonic() + timeout
    while not holds():
        if time.monotonic() + _PAUSE > deadline:
            raise WaitExpired(
                f"waited {timeout:.0f} s for {what}; the next pass continues from here"
            )
        time.sleep(_PAUSE)


def _recreated(workload: Mapping[str, Any], templates: list[Json]) -> Json:
    """Return the StatefulSet as it was, but for the claim templates and what the server sets."""
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    metadata = {key: workload["metadata"][key] for key in kept if key in workload["metadata"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata,
        "spec": {**workload["spec"], "volumeClaimTemplates": templates},
    }
