# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and change what surrounds the Pods of a set: nodes, claims, volumes, the resource itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.api import names
from ...module_utils.clients.kubernetes.applying import Writer
from ...module_utils.clients.kubernetes.errors import NotFound, Refused
from ...module_utils.clients.kubernetes.selecting import Selection
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.logservice.replaced_volumes import MARK

Json = dict[str, Any]


class SetObjects:
    """The objects around a set; what may not be read is unknown."""

    def __init__(self, session: Session, resource: Mapping[str, Any]) -> None:
        self._session, self._writer, self._resource = session, Writer(session), resource
        metadata = resource["metadata"]
        self._name, self._namespace = metadata["name"], metadata["namespace"]

    def nodes(self, selected: Iterable[str]) -> dict[str, Json | None]:
        """Return nodes by name, as far as they may be read; None for one that does not exist."""
        found: dict[str, Json | None] = {}
        for name in selected:
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
        """Return the PersistentVolumes that claims are bound to, as far as they may be read.

        A claim may name any volume; only the volume's own reference says that it is bound.
        """
        found = []
        for claim in claims:
            name = (claim.get("spec") or {}).get("volumeName")
            try:
                volume = self._writer.get(_volume(name)) if name else None
            except Refused:
                return []
            if volume is not None and _is_bound_to(volume, claim):
                found.append(volume)
        return found

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

    def latest(self, api_version: str, kind: str, name: str) -> Json | None:
        """Return an object of the namespace as the API server has it at this moment, or None."""
        place = {"name": name, "namespace": self._namespace}
        return self._writer.latest({"apiVersion": api_version, "kind": kind, "metadata": place})

    def volume(self, name: str) -> Json | None:
        """Return a PersistentVolume as it is now; None if there is none.

        Raises:
            ApiError: it may not be read.
        """
        return self._writer.get(_volume(name))

    def keep(
        self, volume: Mapping[str, Any], pod: str, annotations: Mapping[str, str | None]
    ) -> str:
        """Make a PersistentVolume outlive its claim; return why that cannot be, or nothing.

        Args:
            volume: as it is now.
            pod: whose store has it.
            annotations: to be added.

        Raises:
            Conflict: it was changed meanwhile.
        """
        labels = {names.LABEL_NAMESPACE: self._namespace, names.LABEL_INSTANCE: self._name}
        labels |= {names.LABEL_COMPONENT: names.LOG_SET, MARK: pod}
        try:
            self._set_reclaim_policy(volume, "Retain", labels, annotations)
        except Refused as error:
            return str(error)
        return ""

    def give_back(self, volume: Mapping[str, Any], policy: str, *, in_use: bool) -> None:
        """Give a PersistentVolume the reclaim policy again that it had before it was kept.

        Args:
            volume: as it is now.
            policy: the policy; where it is Delete, Kubernetes deletes a volume without claim.
            in_use: whether its claim is there, so that nothing remains to be known of it.

        Raises:
            Conflict: it was changed meanwhile.
        """
        gone: dict[str, str | None] = {MARK: None} if in_use else {}
        self._set_reclaim_policy(volume, policy, gone, gone)

    def _set_reclaim_policy(
        self,
        volume: Mapping[str, Any],
        policy: str,
        labels: Mapping[str, str | None],
        annotations: Mapping[str, str | None],
    ) -> None:
        metadata = {key: volume["metadata"][key] for key in ("name", "uid", "resourceVersion")}
        manifest = _volume(metadata["name"])
        manifest["metadata"] = {**metadata, "labels": labels, "annotations": annotations}
        self._writer.patch({**manifest, "spec": {"persistentVolumeReclaimPolicy": policy}})

    def delete(self, found: Mapping[str, Any], *, force: bool = False) -> None:
        """Delete this very object, not a later one of the same name."""
        metadata = {key: found["metadata"][key] for key in ("name", "namespace", "uid")}
        manifest = {"apiVersion": "v1", "kind": found["kind"], "metadata": metadata}
        try:
            self._writer.delete(manifest, grace_seconds=0 if force else None)
        except NotFound:
            return


def _is_bound_to(volume: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    bound = ((volume.get("spec") or {}).get("claimRef") or {}).get("uid")
    return bool(bound and bound == claim["metadata"].get("uid"))


def _volume(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
