# SPDX-License-Identifier: Apache-2.0
"""Connects the loop and the proxy, which do not import each other."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.errors import ConfigError
from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.loop.control import ControlLoop
from ansible_operator.loop.settings import BeforeRead, Controlled
from ansible_operator.serve.interface import Owner, OwnWrite, ProxyLimits
from ansible_operator.serve.proxy import LoopbackProxy


@dataclass(slots=True)
class Bridge:
    """Opens sessions of the proxy for runs, and reports its writes to the loop.

    Attributes:
        inject_owner: value of ``--inject-owner-ref``.
        directory: private folder for the kubeconfigs of runs.
        loop: set once the loop is created.
        proxy: set once the proxy listens.
    """

    inject_owner: bool
    directory: Path
    loop: ControlLoop | None = None
    proxy: LoopbackProxy | None = None

    @contextlib.contextmanager
    def kubeconfig_for(
        self, controlled: Controlled, obj: Object, look: BeforeRead | None
    ) -> Iterator[Path]:
        """A kubeconfig for one run on behalf of an object; removed when the context ends.

        Raises:
            ConfigError: the proxy does not listen.
        """
        metadata = obj["metadata"]
        owner = Owner(
            gvk=controlled.gvk,
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            uid=metadata.get("uid", ""),
            namespaced=controlled.resource.namespaced,
            resource_version=metadata.get("resourceVersion", ""),
        )
        limits = ProxyLimits(
            inject_owner=self.inject_owner,
            blacklist=frozenset(GroupVersionKind(*kind) for kind in controlled.watch.blacklist),
        )
        if self.proxy is None:
            raise ConfigError("the proxy is not running")
        session = self.proxy.open_session(owner, limits, self.directory, look)
        try:
            yield session.kubeconfig
        finally:
            self.proxy.close_session(session)

    async def add_dependent(
        self, owner: Owner, resource: ResourceType, by_annotation: bool
    ) -> None:
        """A run is about to create an object for an owner, or has found one."""
        if self.loop is None:
            return
        if self.loop.watch_dependent(owner.gvk, resource, by_annotation=by_annotation):
            await self.loop.await_dependents(resource)

    def write_seen(self, owner: Owner, write: OwnWrite) -> None:
        """A run's write has succeeded."""
        if self.loop is not None:
            name = (owner.namespace if owner.namespaced else "", owner.name)
            self.loop.note_write(owner.gvk, name, write.uid, write.resource_version)
