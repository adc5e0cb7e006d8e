# SPDX-License-Identifier: Apache-2.0
"""What a confirmed write means for caches, for dependent watches and for the loop."""

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A write that the API server has confirmed.

    Attributes:
        namespace: of the object; empty for cluster-scoped ones.
        before: the object's version in the cache when the write was sent; ``""`` if unknown. An
            answer with this version means that the write has changed nothing, and the version
            may be another writer's.
    """

    info: RequestInfo
    resource: ResourceType
    namespace: str
    grant: Grant
    before: str


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

    def version(self, resource: ResourceType | None, namespace: str, name: str) -> str:
        """The version of an object in its cache; ``""`` if it is not there."""
        informer = None if resource is None else self._informers.peek(resource)
        cached = None if informer is None else informer.get(namespace, name)
        return "" if cached is None else str(cached["metadata"].get("resourceVersion", ""))

    async def note(self, write: Confirmed, body: bytes) -> None:
        """A write succeeded with this answer (empty when it was too long to be held)."""
        info, resource = write.info, write.resource
        self._discovery.note_write(info.group, info.resource)
        if resource.is_virtual:
            return
        if info.verb == "deletecollection":
            self._many_deleted(write, decode(body, Heads))
            return
        head = decode(body, Head) or Head()
        if info.verb == "delete" and not info.subresource:
            self._deleted(write, write.namespace, info.name, head)
        elif info.subresource == "eviction":
            self._deleted(write, write.namespace, info.name, Head(kind="Eviction"))
        elif info.subresource == "binding":
            self._barrier.note_unknown(resource.gvk)
        elif info.subresource in _SAME_OBJECT:
            self._written(write, head)
            if not info.subresource:
                owners = head.metadata.owners()
                await self._dependents.recover(write.grant, resource, owners, write.namespace)

    def _written(self, write: Confirmed, head: Head) -> None:
        metadata, resource, namespace = head.metadata, write.resource, write.namespace
        name = metadata.name or write.info.name
        self._barrier.note_write(resource.gvk, namespace, name, metadata.resourceVersion)
        if metadata.deletionTimestamp and write.grant.owner.uid != metadata.uid:
            # The write may have removed the last finalizer.
            write.grant.adopting.pop((resource.gvk.group, resource.plural, namespace, name), None)
        self._report(write, namespace, name, head.metadata.uid, metadata.resourceVersion)

    def _deleted(self, write: Confirmed, namespace: str, name: str, head: Head) -> None:
        resource = write.resource
        write.grant.adopting.pop((resource.gvk.group, resource.plural, namespace, name), None)
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
        self._report(write, namespace, name, uid, head.metadata.resourceVersion)

    def _many_deleted(self, write: Confirmed, heads: Heads | None) -> None:
        if heads is None or not heads.kind.endswith("List"):
            self._barrier.note_unknown(write.resource.gvk)
            return
        for head in heads.items:
            inside = head.metadata.namespace or write.namespace
            self._deleted(write, inside, head.metadata.name, head)

    def _report(self, write: Confirmed, namespace: str, name: str, uid: str, version: str) -> None:
        """Report the version that the run has written, unless it was there before."""
        if self._write_seen is None or (version and version == write.before):
            return
        self._write_seen(
            write.grant.owner,
            OwnWrite(
                resource=write.resource,
                namespace=namespace,
                name=name,
                uid=uid,
                resource_version=version,
            ),
        )
