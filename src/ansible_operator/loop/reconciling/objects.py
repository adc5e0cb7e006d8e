# SPDX-License-Identifier: Apache-2.0
"""Live reads and conditional writes of one controller's objects."""

from collections.abc import Callable, Mapping
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import Object
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.reconciling import conditions
from ansible_operator.loop.reconciling.conditions import Condition
from ansible_operator.loop.settings import Controlled

ATTEMPTS = 5
MERGE_PATCH = "application/merge-patch+json"

_LOG = get_logger("ansible-controller")


class ObjectStore:
    """The objects of one kind on the API server."""

    def __init__(
        self, client: HttpClient, controlled: Controlled, informers: SharedInformers
    ) -> None:
        self._controlled = controlled
        self._client = client
        self._informers = informers

    def cached(self, namespace: str, name: str) -> Object | None:
        """The object in its kind's cache; None if it is not there."""
        informer = self._informers.peek(self._controlled.resource)
        return None if informer is None else informer.get(namespace, name)

    async def read(self, namespace: str, name: str) -> Object | None:
        """The current object; None when it is deleted.

        Raises:
            KubeError: it could not be read.
        """
        path = self._controlled.resource.path(name, namespace)
        try:
            return await self._client.request_object("GET", path)
        except KubeError as error:
            if error.is_not_found:
                return None
            raise

    async def change_conditions(
        self,
        obj: Object,
        change: Callable[[list[Condition]], list[Condition]],
        more: Mapping[str, Any] | None = None,
    ) -> Object | None:
        """Apply a pure change to the conditions; write only what differs.

        Args:
            obj: as it is known.
            change: of its conditions.
            more: fields of the status that are written, too, as a merge patch.

        A conflict is solved by reading again and changing what was found, so neither our
        conditions nor anybody else's are lost.

        Returns:
            The object after the write; None when it is deleted.

        Raises:
            KubeError: the status could not be written.
        """

        def patch(now: Object) -> dict[str, Any] | None:
            status = now.get("status")
            desired = change(conditions.current(status))
            if isinstance(status, dict) and status.get("conditions") == desired and not more:
                return None
            return {"status": {**(more or {}), "conditions": desired}}

        return await self._patch(obj, patch, "status")

    async def add_finalizer(self, obj: Object, finalizer: str) -> Object | None:
        """Add our finalizer to an object; None when it is deleted."""

        def patch(now: Object) -> dict[str, Any] | None:
            owned = now["metadata"].get("finalizers") or []
            if finalizer in owned or now["metadata"].get("deletionTimestamp"):
                return None
            return {"metadata": {"finalizers": [*owned, finalizer]}}

        return await self._patch(obj, patch)

    async def remove_finalizer(self, obj: Object, finalizer: str) -> Object | None:
        """Remove our finalizer from an object; None when it is deleted."""

        def patch(now: Object) -> dict[str, Any] | None:
            owned = now["metadata"].get("finalizers") or []
            if finalizer not in owned:
                return None
            return {"metadata": {"finalizers": [item for item in owned if item != finalizer]}}

        return await self._patch(obj, patch)

    async def _patch(
        self,
        obj: Object,
        make: Callable[[Object], dict[str, Any] | None],
        subresource: str = "",
    ) -> Object | None:
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        path = self._controlled.resource.path(name, namespace, subresource)
        for attempt in range(ATTEMPTS):
            body = make(obj)
            if body is None:
                return obj
            version = obj["metadata"].get("resourceVersion")
            body.setdefault("metadata", {}).update(
                uid=obj["metadata"].get("uid"), resourceVersion=version
            )
            try:
                written = await self._client.request_object(
                    "PATCH", path, body=body, content_type=MERGE_PATCH
                )
            except KubeError as error:
                if not (error.is_conflict or error.is_not_found) or attempt + 1 == ATTEMPTS:
                    raise
                found = await self.read(namespace, name)
                if found is None or found["metadata"].get("uid") != metadata.get("uid"):
                    _LOG.info("Resource not found, assuming it was deleted")
                    return None
                if error.is_not_found:
                    raise
                obj = found
            else:
                return written
        return obj
