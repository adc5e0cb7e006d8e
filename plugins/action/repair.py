# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.repair); documented in plugins/modules/repair.py."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.api.errors import RenderingError
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.errors import NotFound, Refused
from ..module_utils.clients.kubernetes.selecting import Selection
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.compute import pods as cn_pods
from ..module_utils.logservice.view import View
from ..module_utils.reporting.events import occurrence
from ..module_utils.workload import nodes
from ..module_utils.workload.plans import is_paused
from ..plugin_utils import log_members, tn_round
from ..plugin_utils.kube_action import KubeAction
from ..plugin_utils.log_round import Outcome, Round, Situation

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Replace lost log stores, let log stores leave, let Pods on lost nodes go, ask for shards."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "workload": {"type": "dict"},
        "pods": {"type": "list", "elements": "dict", "default": []},
        "log_set": {"type": "dict"},
        "timeout": {"type": "float", "default": 8.0},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Take one step, if there is one to take."""
        resource = arguments["resource"]
        if self.dry_run or is_paused(resource) or arguments["workload"] is None:
            return {"changed": False, "stores": {}}
        objects = _Objects(session, resource)
        if resource["kind"] != names.LOG_SET:
            served = _served(session, arguments)
            released = _released(objects, arguments["pods"])
            return {**released, "stores": {**served, **released["stores"]}}
        situation = Situation(resource, arguments["workload"], arguments["pods"], time.time())
        try:
            outcome = Round(situation, objects, Deadline.after(arguments["timeout"])).run()
        except RenderingError:
            # What is wrong with the spec is told by who renders it.
            return {"changed": False, "stores": {}}
        return {"changed": outcome.changed, "stores": _shown(outcome)}


class _Objects:
    """The objects around a set; what may not be read is unknown."""

    def __init__(self, session: Session, resource: Mapping[str, Any]) -> None:
        self._session, self._writer, self._resource = session, Writer(session), resource
        metadata = resource["metadata"]
        self._name, self._namespace = metadata["name"], metadata["namespace"]

    def nodes(self, wanted: Iterable[str]) -> dict[str, Json | None]:
        """Return nodes by name, as far as they may be read; None for one that does not exist."""
        found: dict[str, Json | None] = {}
        for name in wanted:
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
            try:
                found[name] = self._writer.get(node)
            except Refused:
                return {}
        return found

    def claims(self) -> list[Json]:
        """Return the claims of the set."""
        labels = names.selector_labels(self._resource["kind"], self._name, self._namespace)
        chosen = Selection("v1", "PersistentVolumeClaim", self._namespace, labels)
        return chosen.list(self._session)

    def volumes(self, claims: Sequence[Mapping[str, Any]]) -> list[Json]:
        """Return the PersistentVolumes that claims are bound to, as far as they may be read."""
        bound = [(claim.get("spec") or {}).get("volumeName") for claim in claims]
        try:
            found = [self._writer.get(_volume(name)) for name in bound if name]
        except Refused:
            return []
        return [volume for volume in found if volume is not None]

    def gossip(self) -> str:
        """Return the incarnations as the stores' configuration has them."""
        name = f"{names.base_name(names.LOG_SET, self._name)}-gossip"
        place = {"name": name, "namespace": self._namespace}
        found = self._writer.get({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place})
        return str(((found or {}).get("data") or {}).get(names.INCARNATIONS_FILE) or "")

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the resource; None removes one."""
        place = {"name": self._name, "namespace": self._namespace}
        identity = {key: self._resource[key] for key in ("apiVersion", "kind")}
        self._writer.patch({**identity, "metadata": {**place, "annotations": dict(annotations)}})

    def keep(self, volume: Mapping[str, Any]) -> str:
        """Make a PersistentVolume outlive its claim; return why that cannot be, or nothing."""
        manifest = _volume(volume["metadata"]["name"])
        labels = {names.LABEL_NAMESPACE: self._namespace, names.LABEL_INSTANCE: self._name}
        manifest["metadata"]["labels"] = {**labels, names.LABEL_COMPONENT: names.LOG_SET}
        try:
            self._writer.patch({**manifest, "spec": {"persistentVolumeReclaimPolicy": "Retain"}})
        except Refused as error:
            return str(error)
        return ""

    def delete(self, found: Mapping[str, Any], *, force: bool = False) -> None:
        """Delete this very object, not a namesake made later."""
        metadata = {key: found["metadata"][key] for key in ("name", "namespace", "uid")}
        manifest = {"apiVersion": "v1", "kind": found["kind"], "metadata": metadata}
        try:
            self._writer.delete(manifest, grace_seconds=0 if force else None)
        except NotFound:
            return


def _volume(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}


def _released(objects: _Objects, pods: Sequence[Mapping[str, Any]]) -> Json:
    """Let go of Pods that only a lost node could end; nothing of value is on them."""
    now = time.time()
    if not nodes.overdue(pods, now):
        return {"changed": False, "stores": {}}
    known = objects.nodes({nodes.node_name(pod) for pod in pods} - {""})
    stuck = nodes.stuck_on_lost_nodes(pods, known, now)
    for pod in stuck:
        objects.delete({"kind": "Pod", **pod}, force=True)
    events = [
        occurrence("PodReleased", nodes.farewell(pod), action="Repair", warning=True)
        for pod in stuck
    ]
    return {"changed": bool(stuck), "stores": {"events": events}}


def _served(session: Session, arguments: Json) -> Json:
    """Ask which shards transaction nodes serve; nothing where the spec cannot be read."""
    resource, log_set = arguments["resource"], arguments["log_set"]
    pods = cn_pods.live_pods(log_members.members(session, log_set))
    addresses = cn_pods.log_addresses(pods) if log_set else log_members.external(resource)
    deadline = Deadline.after(arguments["timeout"])
    try:
        found = tn_round.look(resource, arguments["workload"], addresses, deadline)
    except RenderingError:
        return {}
    return {
        "asked": found.asked,
        "reached": found.reached,
        "problem": found.problem,
        "unserved": found.unserved,
        "tnShards": found.shards,
    }


def _shown(outcome: Outcome) -> Json:
    verdict, scale = outcome.verdict, outcome.scale
    return {
        "asked": outcome.asked,
        "reached": outcome.view is not None,
        "problem": outcome.problem,
        "shards": _shards(outcome.view),
        "empty": sorted(outcome.empty),
        "repair": {
            "step": verdict.step.value,
            "pod": verdict.pod,
            "message": verdict.message,
            "due": verdict.due,
        },
        "replicas": scale.replicas if scale else None,
        "scaling": scale.message if scale else "",
        "incarnations": outcome.incarnations,
        "events": outcome.events,
    }


def _shards(view: View | None) -> list[Json] | None:
    """Return the log shards as status shows them; None when HAKeeper did not say."""
    if view is None:
        return None
    return [
        {
            "shard": shard.number,
            "replicas": max(len(shard.members), shard.wanted or 0),
            "available": len(shard.alive),
        }
        for shard in view.shards
    ]
