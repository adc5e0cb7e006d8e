# SPDX-License-Identifier: Apache-2.0
"""Which watches follow from what a run creates or reads."""

from collections.abc import Mapping
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.interface import ResourceType
from ansible_operator.logs import get_logger
from ansible_operator.serve.interface import DependentAdded
from ansible_operator.serve.proxy.ownership import OwnershipStyle, style_of
from ansible_operator.serve.proxy.sessions import Grant

_log = get_logger("proxy")


class DependentKinds:
    """Reports kinds of dependents to the loop.

    The loop decides with the watch's own switches (``watchDependentResources``,
    ``watchClusterScopedResources``); the blacklist and the namespaces are checked here.
    """

    def __init__(self, added: DependentAdded, namespaces: frozenset[str]) -> None:
        self._added = added
        self._namespaces = namespaces

    async def register(
        self, grant: Grant, resource: ResourceType, style: OwnershipStyle, namespace: str
    ) -> None:
        """Have the kind watched before one of its objects is created.

        Raises:
            KubeError: the watch cannot be set up.
        """
        if not self._is_watched(grant, resource, namespace):
            return
        by_annotation = style is OwnershipStyle.ANNOTATION
        await self._added(grant.owner, resource, by_annotation)
        grant.recovered.add((resource.gvk, by_annotation))

    async def recover(
        self, grant: Grant, resource: ResourceType, metadata: Mapping[str, Any], namespace: str
    ) -> None:
        """Have a kind watched again because a dependent of it was seen, once per run."""
        style = style_of(metadata, grant.owner)
        if style is None or (resource.gvk, style is OwnershipStyle.ANNOTATION) in grant.recovered:
            return
        try:
            await self.register(grant, resource, style, namespace)
        except KubeError as error:
            _log.error("Could not recover a dependent watch", gvk=str(resource.gvk), err=str(error))

    def _is_watched(self, grant: Grant, resource: ResourceType, namespace: str) -> bool:
        if resource.gvk in grant.limits.blacklist:
            _log.debug("Resource will not be watched/cached.", GVK=str(resource.gvk))
            return False
        # Objects without a namespace are beyond the restriction; the watch's own switch decides.
        return not (self._namespaces and resource.namespaced) or namespace in self._namespaces
