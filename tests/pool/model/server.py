# SPDX-License-Identifier: Apache-2.0
"""An API server with resourceVersions, preconditions and caches that lag behind."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_REMEMBERED = 12


class Refused(Exception):
    """A write that the server does not accept: conflict, not found or name taken."""


class Server:
    """Objects by kind and name. An object is replaced, never changed: old reads stay as they were."""

    def __init__(self) -> None:
        self.version = 0
        self.serial = 0
        self.kinds: dict[str, dict[str, Json]] = {}
        self.past: dict[str, deque[dict[str, Json]]] = {}

    def list(self, kind: str, age: int = 0) -> dict[str, Json]:
        """Return the objects of a kind, as they were some writes ago."""
        past = self.past.get(kind)
        if not age or not past:
            return self.kinds.get(kind, {})
        return past[max(0, len(past) - 1 - age)]

    def get(self, kind: str, name: str) -> Json | None:
        return self.kinds.get(kind, {}).get(name)

    def create(self, kind: str, manifest: Json, now: float) -> Json:
        metadata = dict(manifest["metadata"])
        self.serial += 1
        if "generateName" in metadata:
            metadata["name"] = f"{metadata.pop('generateName')}{self.serial:05d}"
        if metadata["name"] in self.kinds.get(kind, {}):
            raise Refused("AlreadyExists")
        metadata["uid"] = f"uid-{self.serial}"
        metadata["created"] = now
        return self._store(kind, {**manifest, "metadata": metadata})

    def update(self, kind: str, name: str, change: Any, uid: str = "", version: str = "") -> Json:
        """Replace an object by what ``change`` makes of a copy of it."""
        live = self._checked(kind, name, uid, version)
        copy = {**live, "metadata": {**live["metadata"]}}
        for key in ("labels", "annotations"):
            copy["metadata"][key] = dict(live["metadata"].get(key) or {})
        for key in ("spec", "status"):
            copy[key] = dict(live.get(key) or {})
        change(copy)
        return self._store(kind, copy)

    def delete(self, kind: str, name: str, uid: str = "", version: str = "") -> None:
        """Delete at once; Pods are ended by `update` before, as the kubelet does it."""
        self._checked(kind, name, uid, version)
        rest = dict(self.kinds[kind])
        del rest[name]
        self._keep(kind, rest)

    def _checked(self, kind: str, name: str, uid: str, version: str) -> Json:
        live = self.get(kind, name)
        if live is None:
            raise Refused("NotFound")
        metadata = live["metadata"]
        if (uid and metadata["uid"] != uid) or (version and metadata["resourceVersion"] != version):
            raise Refused("Conflict")
        return live

    def _store(self, kind: str, one: Json) -> Json:
        self.version += 1
        one["metadata"]["resourceVersion"] = str(self.version)
        self._keep(kind, {**self.kinds.get(kind, {}), one["metadata"]["name"]: one})
        return one

    def _keep(self, kind: str, objects: dict[str, Json]) -> None:
        self.kinds[kind] = objects
        self.past.setdefault(kind, deque(maxlen=_REMEMBERED)).append(objects)


def merge(table: Json, patch: Mapping[str, Any]) -> None:
    """Apply a merge patch of one level: None removes a key."""
    for key, value in patch.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
