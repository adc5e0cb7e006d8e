# SPDX-License-Identifier: Apache-2.0
"""Writes of plays: the owner of what they create, and the writes that caches do not contain yet.

Creates get an owner, however they are sent: POST, PUT, server-side apply. An
apply names the owner again as long as the object is the owner's, because a field that a manager
leaves out of its next apply is removed; objects of other creators are never adopted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import yaml
from aiohttp import web

from ansible_operator.errors import KubeError, OperatorError
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import Object, ResourceType
from ansible_operator.logs import get_logger
from ansible_operator.serve.proxy import protobuf
from ansible_operator.serve.proxy.answers import decode, status_response
from ansible_operator.serve.proxy.dependent_kinds import DependentKinds
from ansible_operator.serve.proxy.field_managers import manager_of
from ansible_operator.serve.proxy.forward import BodyTooLargeError, Forwarder, read_body
from ansible_operator.serve.proxy.lookup import Lookup
from ansible_operator.serve.proxy.ownership import (
    MalformedObjectError,
    OwnershipStyle,
    is_owned,
    namespace_of,
    style_for,
    with_owner,
)
from ansible_operator.serve.proxy.request_info import RequestInfo
from ansible_operator.serve.proxy.sessions import Grant
from ansible_operator.serve.proxy.write_observer import Confirmed, WriteObserver

APPLY = "application/apply-patch+yaml"
_UNREADABLE = "Could not deserialize request body"
_log = get_logger("proxy")


class RefusedError(OperatorError):
    """The proxy does not forward a request.

    Attributes:
        code: status to answer with.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One request that changes something.

    Attributes:
        resource: the kind; None when discovery does not know it.
        is_dry_run: the API server will change nothing.
    """

    request: web.BaseRequest
    info: RequestInfo
    grant: Grant
    resource: ResourceType | None
    is_dry_run: bool

    @property
    def namespace(self) -> str:
        """Namespace of the object; empty for cluster-scoped ones."""
        return self.info.namespace if self.resource and self.resource.namespaced else ""


class Writer:
    """Forwards writes."""

    def __init__(
        self,
        forwarder: Forwarder,
        mapper: DiscoveryMapper,
        lookup: Lookup,
        dependents: DependentKinds,
        observer: WriteObserver,
    ) -> None:
        self._forwarder = forwarder
        self._mapper = mapper
        self._lookup = lookup
        self._dependents = dependents
        self._observer = observer

    async def handle(
        self, request: web.BaseRequest, info: RequestInfo, grant: Grant
    ) -> web.StreamResponse:
        """Forward one write and note what it did.

        Raises:
            KubeError: the API server could not be reached.
        """
        try:
            write = Write(
                request=request,
                info=info,
                grant=grant,
                resource=await self._resource(info),
                is_dry_run=bool(request.query.get("dryRun")),
            )
            body = await self._owned_body(write)
        except RefusedError as refusal:
            _log.error(str(refusal), resource=info.record())
            return status_response(refusal.code, str(refusal))
        before = self._observer.metadata(grant, write.resource, write.namespace, info.name)
        upstream = await self._forwarder.send(request, body, prefer_json=True)
        is_success = upstream.status < 300
        response, answer = await self._forwarder.relay(request, upstream, hold=True)
        if is_success and not write.is_dry_run and write.resource is not None:
            manager = manager_of(request.query, request.headers)
            seen = Confirmed(info, write.resource, write.namespace, grant, before, manager)
            await self._observer.note(seen, answer or b"")
        return response

    async def _resource(self, info: RequestInfo) -> ResourceType | None:
        try:
            return await self._mapper.by_plural(info.group, info.version, info.resource)
        except KubeError as error:
            if info.verb == "create" and not info.subresource:
                raise RefusedError(500, "Unable to determine if virtual resource") from error
            return None

    async def _owned_body(self, write: Write) -> bytes | None:
        """The body with an owner in it; None to let the body through as it is."""
        info, resource = write.info, write.resource
        if info.subresource or not write.grant.limits.inject_owner:
            return None
        if resource is None or resource.is_virtual or _is_event(resource):
            return None
        if info.verb == "create":
            return await self._created(write, resource)
        is_json = "json" in write.request.content_type
        if info.verb == "update" and is_json:
            return await self._replaced(write, resource)
        if info.verb == "patch" and write.request.content_type == APPLY:
            return await self._applied(write, resource)
        return None

    async def _created(self, write: Write, resource: ResourceType) -> bytes:
        raw = await _read(write.request)
        if protobuf.CONTENT_TYPE in write.request.headers.get("Content-Type", ""):
            style = style_for(write.grant.owner, resource, write.namespace)
            try:
                owned = protobuf.with_owner(raw, write.grant.owner, style)
            except MalformedObjectError as error:
                raise RefusedError(400, _UNREADABLE) from error
            await self._register(write, resource, style, write.namespace)
            return owned
        body = decode(raw, dict[str, Any])
        if body is None:
            raise RefusedError(400, _UNREADABLE)
        return await self._owned(write, resource, body)

    async def _replaced(self, write: Write, resource: ResourceType) -> bytes | None:
        raw = await _read(write.request)
        body = decode(raw, dict[str, Any])
        if body is None:
            return raw
        owner, style = write.grant.owner, style_for(write.grant.owner, resource, write.namespace)
        if is_owned(body, owner, style):
            return raw
        existing = await self._existing(write, resource)
        if existing is not None and not is_owned(existing, owner, style):
            return raw
        return await self._owned(write, resource, body)

    async def _applied(self, write: Write, resource: ResourceType) -> bytes | None:
        raw = await _read(write.request)
        body = _parse_apply(raw)
        if body is None:
            return raw
        key = (resource.gvk.group, resource.plural, write.namespace, write.info.name)
        is_ours = write.grant.adopting.get(key)
        if is_ours is None:
            style = style_for(write.grant.owner, resource, write.namespace)
            existing = await self._existing(write, resource)
            is_ours = existing is None or is_owned(existing, write.grant.owner, style)
            write.grant.adopting[key] = is_ours
        return await self._owned(write, resource, body) if is_ours else raw

    async def _existing(self, write: Write, resource: ResourceType) -> Mapping[str, Any] | None:
        """The object with at least its metadata; None if it does not exist.

        Clients look before they apply, and what they have just not found is not looked up again.
        """
        if write.grant.is_absent(write.info.path):
            return None
        return await self._lookup.metadata(write.info, resource, write.namespace)

    async def _owned(self, write: Write, resource: ResourceType, body: Object) -> bytes:
        """Name the owner and have the kind watched."""
        grant = write.grant
        namespace = namespace_of(write.namespace, body) if resource.namespaced else ""
        style = style_for(grant.owner, resource, namespace)
        try:
            owned = with_owner(body, grant.owner, style)
        except MalformedObjectError as error:
            message = f"Could not determine if we should add owner ref: {error}"
            raise RefusedError(400, message) from error
        await self._register(write, resource, style, namespace)
        log = _log.info if write.info.verb == "create" else _log.debug
        log("Injecting owner reference", owner=grant.owner.name, gvk=str(resource.gvk))
        return msgspec.json.encode(owned)

    async def _register(
        self, write: Write, resource: ResourceType, style: OwnershipStyle, namespace: str
    ) -> None:
        """Have the kind watched before the object exists; dry runs create none."""
        if write.is_dry_run:
            return
        try:
            await self._dependents.register(write.grant, resource, style, namespace)
        except KubeError as error:
            _log.error("could not add watch to controller", err=str(error))
            raise RefusedError(500, "could not add watch to controller") from error


def _is_event(resource: ResourceType) -> bool:
    """Whether objects of the kind report on others: these must outlive what they report on."""
    return resource.gvk.kind == "Event" and resource.gvk.group in {"", "events.k8s.io"}


async def _read(request: web.BaseRequest) -> bytes:
    try:
        return await read_body(request)
    except BodyTooLargeError as error:
        raise RefusedError(413, str(error)) from error
    except (OSError, aiohttp.ClientError) as error:
        raise RefusedError(500, "Could not read request body") from error


def _parse_apply(raw: bytes) -> Object | None:
    """The object in an apply patch, YAML or JSON; None if the API server has to judge it."""
    body = decode(raw, dict[str, Any])
    if body is not None:
        return body
    try:
        parsed = yaml.load(raw, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    return parsed if isinstance(parsed, dict) else None
