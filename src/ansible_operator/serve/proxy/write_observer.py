# SPDX-License-Identifier: Apache-2.0
"""What a confirmed write means for caches, for dependent watches and for the loop."""

from ansible_operator.kube.interface import ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import OwnWrite, WriteSeen
from ansible_operator.serve.proxy.answers import Head, Heads, decode
from ansible_operator.serve.proxy.barrier import WriteBarrier
from ansible_operator.serve.proxy.dependent_kinds import DependentKinds
from ansible_operator.serve.proxy.discovery_answers import DiscoveryAnswers
from ansible_operator.serve.proxy.request_info import RequestInfo
from ansible_operator.serve.proxy.sessions import Grant

_SAME_OBJECT = frozenset(
    {"", "status", "scale", "ephemeralcontainers", "resize", "approval", "finalize"}
)
"""Subresources whose answer carries the name and the version of the object itself."""


class WriteObserver:
    """Takes note of writes that the API server has confirmed."""

    def __init__(
        self,
        informers: SharedInformers,
        barrier: WriteBarrier,
        dependents: DependentKinds,
        discovery: DiscoveryAnswers,
        write_seen: WriteSeen | None,
    ) -> None:
        self._informers = informers
        self._barrier = barrier
        self._dependents = dependents
        self._discovery = discovery
        self._write_seen = write_seen

    async def note(
        self, info: RequestInfo, resource: ResourceType, namespace: str, grant: Grant, body: bytes
    ) -> None:
        """A write succeeded with this answer (empty when it was too long to be held)."""
        self._discovery.note_write(info.group, info.resource)
        if resource.is_virtual:
            return
        if info.verb == "deletecollection":
            self._many_deleted(resource, namespace, grant, decode(body, Heads))
            return
        head = decode(body, Head) or Head()
        if info.verb == "delete" and not info.subresource:
            self._deleted(resource, namespace, info.name, grant, head)
        elif info.subresource == "eviction":
            self._deleted(resource, namespace, info.name, grant, Head(kind="Eviction"))
        elif info.subresource == "binding":
            self._barrier.note_unknown(resource.gvk)
        elif info.subresource in _SAME_OBJECT:
            self._written(resource, namespace, info.name, grant, head)
            if not info.subresource:
                owners = head.metadata.owners()
                await self._dependents.recover(grant, resource, owners, namespace)

    def _written(
        self, resource: ResourceType, namespace: str, name: str, grant: Grant, head: Head
    ) -> None:
        metadata = head.metadata
        name = metadata.name or name
        version = metadata.resourceVersion
        self._barrier.note_write(resource.gvk, namespace, name, version)
        if metadata.deletionTimestamp and grant.owner.uid != metadata.uid:
            # The write may have removed the last finalizer.
            grant.adopting.pop((resource.gvk.group, resource.plural, namespace, name), None)
        self._report(resource, namespace, name, grant, metadata.uid, version)

    def _deleted(
        self, resource: ResourceType, namespace: str, name: str, grant: Grant, head: Head
    ) -> None:
        grant.adopting.pop((resource.gvk.group, resource.plural, namespace, name), None)
        details_uid = head.details.uid if head.details else ""
        is_object = head.kind not in {"Status", "Eviction"}
        uid = head.metadata.uid if is_object else details_uid
        is_pending = head.kind == "Eviction" or head.metadata.deletionTimestamp is not None
        self._barrier.note_deletion(
            resource.gvk,
            namespace,
            name,
            uid,
            is_final=not is_pending,
            informer=self._informers.peek(resource),
        )
        self._report(resource, namespace, name, grant, uid, head.metadata.resourceVersion)

    def _many_deleted(
        self, resource: ResourceType, namespace: str, grant: Grant, heads: Heads | None
    ) -> None:
        if heads is None or not heads.kind.endswith("List"):
            self._barrier.note_unknown(resource.gvk)
            return
        for head in heads.items:
            inside = head.metadata.namespace or namespace
            self._deleted(resource, inside, head.metadata.name, grant, head)

    def _report(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        grant: Grant,
        uid: str,
        version: str,
    ) -> None:
        if self._write_seen is not None:
            self._write_seen(
                grant.owner,
                OwnWrite(
                    resource=resource,
                    namespace=namespace,
                    name=name,
                    uid=uid,
                    resource_version=version,
                ),
            )
