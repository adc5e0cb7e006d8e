# SPDX-License-Identifier: Apache-2.0
"""What a confirmed write means for caches, for dependent watches and for the loop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator.kube.interface import ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.serve.interface import OwnWrite, WriteSeen
from ansible_operator.serve.proxy.answers import Head, Heads, Metadata, decode
from ansible_operator.serve.proxy.barrier import WriteBarrier, number_of
from ansible_operator.serve.proxy.dependent_kinds import DependentKinds
from ansible_operator.serve.proxy.discovery_answers import DiscoveryAnswers
from ansible_operator.serve.proxy.field_managers import has_written
from ansible_operator.serve.proxy.request_info import RequestInfo
from ansible_operator.serve.proxy.sessions import Grant

_SAME_OBJECT = frozenset(
    {"", "status", "scale", "ephemeralcontainers", "resize", "approval", "finalize"}
)
"""Subresources whose answer carries the name and the version of the object itself."""
_MOST_REMEMBERED = 1000
"""Objects of which a run's last answer is remembered."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A write that the API server has confirmed.

    Attributes:
        namespace: of the object; empty for cluster-scoped ones.
        before: the object's metadata in the cache when the write was sent; None if unknown.
        manager: the name under which the API server notes who has changed a field.
    """

    info: RequestInfo
    resource: ResourceType
    namespace: str
    grant: Grant
    before: Mapping[str, Any] | None
    manager: str


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

    def metadata(
        self, grant: Grant, resource: ResourceType | None, namespace: str, name: str
    ) -> Mapping[str, Any] | None:
        """The metadata of the newest known version of an object; None if none is known.

        That is the one in the cache, or in the last answer to a write of the run.
        """
        if resource is None:
            return None
        informer = self._informers.peek(resource)
        cached = None if informer is None else informer.get(namespace, name)
        answered = grant.answered.get(_key(resource, namespace, name))
        if cached is None:
            return answered
        known: Mapping[str, Any] = cached["metadata"]
        newest = number_of(str(known.get("resourceVersion", "")))
        is_newer = answered is not None and number_of(answered["resourceVersion"]) > newest
        return answered if is_newer else known

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
            write.grant.adopting.pop(_key(resource, namespace, name), None)
        _remember(write.grant, _key(resource, namespace, name), metadata)
        if _is_its_own(write, metadata):
            self._report(write, namespace, name, metadata.uid, metadata.resourceVersion)

    def _deleted(self, write: Confirmed, namespace: str, name: str, head: Head) -> None:
        resource = write.resource
        write.grant.adopting.pop(_key(resource, namespace, name), None)
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
        if _has_deleted(write, head.metadata):
            self._report(write, namespace, name, uid, head.metadata.resourceVersion)

    def _many_deleted(self, write: Confirmed, heads: Heads | None) -> None:
        if heads is None or not heads.kind.endswith("List"):
            self._barrier.note_unknown(write.resource.gvk)
            return
        for head in heads.items:
            inside = head.metadata.namespace or write.namespace
            self._deleted(write, inside, head.metadata.name, head)

    def _report(self, write: Confirmed, namespace: str, name: str, uid: str, version: str) -> None:
        """Report the version that the run has written."""
        if self._write_seen is None:
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


def _key(resource: ResourceType, namespace: str, name: str) -> tuple[str, str, str, str]:
    return resource.gvk.group, resource.plural, namespace, name


def _remember(grant: Grant, key: tuple[str, str, str, str], answered: Metadata) -> None:
    if len(grant.answered) >= _MOST_REMEMBERED:
        grant.answered.clear()
    known: dict[str, Any] = {
        "uid": answered.uid,
        "resourceVersion": answered.resourceVersion,
        "managedFields": answered.managedFields,
    }
    if answered.deletionTimestamp:
        known["deletionTimestamp"] = answered.deletionTimestamp
    grant.answered[key] = known


def _is_its_own(write: Confirmed, answered: Metadata) -> bool:
    """Whether the version in an answer is the write's, and not that of another one before it.

    An object that was not known before is new, or the cache does not have it yet.
    """
    before = write.before or {}
    if before.get("uid", answered.uid) != answered.uid:
        return True
    if before.get("resourceVersion") == answered.resourceVersion:
        return False
    return has_written(write.manager, before.get("managedFields"), answered.managedFields)


def _has_deleted(write: Confirmed, answered: Metadata) -> bool:
    """Whether a deletion has changed an object that is still there.

    One that was being deleted before is not changed by it.
    """
    before = write.before
    if before is None or before.get("uid") != answered.uid:
        return True
    return "deletionTimestamp" not in before
