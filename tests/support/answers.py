# SPDX-License-Identifier: Apache-2.0
"""A session without a server: it answers with given objects and records what is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    NotFound,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.kinds import (
    collection_path,
    object_path,
)

Json = dict[str, Any]


class Answers:
    """Objects by their path; a list is every object of the kind in the namespace.

    Attributes:
        asked: paths that were read.
        written: method, path and body of each other request.
    """

    def __init__(self, *objects: Mapping[str, Any]) -> None:
        self.added: dict[str, Any] = {}
        self.discovered: dict[str, Any] = {}
        self.asked: list[str] = []
        self.written: list[tuple[str, str, Any]] = []
        self._objects = {object_path(self, one): one for one in objects}  # type: ignore[arg-type]

    def request(self, method: str, path: str, *, body: Any = None, **_more: Any) -> Any:
        if method != "GET":
            self.written.append((method, path, body))
            return body
        self.asked.append(path)
        if path in self._objects:
            return self._objects[path]
        listed = self._of(path)
        if listed:
            return {"items": listed}
        raise NotFound(f"{path} not found", 404, "NotFound", [])

    def _of(self, path: str) -> list[Mapping[str, Any]]:
        def of(one: Mapping[str, Any]) -> str:
            namespace = one["metadata"].get("namespace")
            return collection_path(self, one["apiVersion"], one["kind"], namespace)  # type: ignore[arg-type]

        return [one for one in self._objects.values() if of(one) == path]


def changed(written: Iterable[tuple[str, str, Any]]) -> list[str]:
    """Return what was written to, as method and last part of the path."""
    return [f"{method} {path.rpartition('/')[2]}" for method, path, _body in written]
