# SPDX-License-Identifier: Apache-2.0
"""Read and change the volumes of log stores, and read the incarnations that they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..api import names
from ..clients.kubernetes.errors import Refused
from ..passes.set_objects import SetObjects
from .rendering import gossip_name
from .replaced_volumes import MARK

Json = dict[str, Any]


class LogSetObjects(SetObjects):
    """The objects around a LogSet."""

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
        place = {"name": gossip_name(self._name), "namespace": self._namespace}
        found = self._writer.get({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place})
        return str(((found or {}).get("data") or {}).get(names.INCARNATIONS_FILE) or "")

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


def _is_bound_to(volume: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    bound = ((volume.get("spec") or {}).get("claimRef") or {}).get("uid")
    return bool(bound and bound == claim["metadata"].get("uid"))


def _volume(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}}
