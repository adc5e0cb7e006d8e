# SPDX-License-Identifier: Apache-2.0
"""Read and change what surrounds the Pods of a set: nodes, claims, volumes, the resource itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..api import names
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import NotFound, Refused
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session

Json = dict[str, Any]


class SetObjects:
    """The objects around a set; what may not be read is unknown."""

    def __init__(self, session: Session, resource: Mapping[str, Any]) -> None:
        self._session, self._writer, self._resource = session, Writer(session), resource
        metadata = resource["metadata"]
        self._name, self._namespace = metadata["name"], metadata["namespace"]
        self._version = ""

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

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the resource; None removes one.

        What they record was decided by the resource as it was read. Two operators may be at work
        for some seconds, as when one stood still while its lease ended.

        Raises:
            Outdated: somebody else has changed it since.
        """
        place = {"name": self._name, "namespace": self._namespace}
        identity = {key: self._resource[key] for key in ("apiVersion", "kind")}
        version = self._version or self._resource["metadata"]["resourceVersion"]
        seen = {**place, "resourceVersion": version}
        written = self._writer.patch(
            {**identity, "metadata": {**seen, "annotations": dict(annotations)}}
        )
        self._version = (written.after or {})["metadata"]["resourceVersion"]

    def latest(self, api_version: str, kind: str, name: str) -> Json | None:
        """Return an object of the namespace as the API server has it at this moment, or None."""
        place = {"name": name, "namespace": self._namespace}
        return self._writer.latest({"apiVersion": api_version, "kind": kind, "metadata": place})

    def delete(self, found: Mapping[str, Any], *, force: bool = False) -> None:
        """Delete this very object, not a later one of the same name."""
        metadata = {key: found["metadata"][key] for key in ("name", "namespace", "uid")}
        manifest = {"apiVersion": "v1", "kind": found["kind"], "metadata": metadata}
        try:
            self._writer.delete(manifest, grace_seconds=0 if force else None)
        except NotFound:
            return
