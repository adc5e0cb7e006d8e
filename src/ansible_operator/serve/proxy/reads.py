# SPDX-License-Identifier: Apache-2.0
"""Reads answered from informers that run anyway.

A read never starts an informer: roles that read one Secret must not make the process hold ten
thousand. Watches, pages, tables and everything else that a cache cannot answer exactly go live.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from ansible_operator.errors import KubeError
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.documents import IncompleteObject
from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import Object, ResourceType
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.serve.proxy.barrier import WriteBarrier
from ansible_operator.serve.proxy.request_info import RequestInfo
from ansible_operator.serve.proxy.sessions import Grant

LONGEST_LIST = 500
"""Objects in a list that the proxy encodes itself; passing longer ones through is cheaper."""
LARGEST_LIST = 4 << 20
"""Bytes of such a list: while it is encoded, the event loop and with it the lease have to wait."""

_log = get_logger("proxy")
_PAIR = re.compile(r"[A-Za-z0-9./_-]+={1,2}[A-Za-z0-9._-]*")
_HARMLESS = frozenset({"pretty", "labelSelector", "fieldSelector", "resourceVersion", "limit"})


def simple_selector(text: str) -> dict[str, str] | None:
    """A selector of the form ``k=v,k2=v2`` as a mapping; None for any other."""
    pairs: dict[str, str] = {}
    for term in filter(None, text.split(",")):
        if not _PAIR.fullmatch(term):
            return None
        key, _, value = term.partition("=")
        pairs[key] = value.removeprefix("=")
    return pairs


def accepts_json(accept: str) -> bool:
    """Whether plain JSON objects answer the request; tables and metadata alone are not plain."""
    if not accept:
        return True
    return "as=" not in accept and ("application/json" in accept or "*/*" in accept)


class CacheReader:
    """Finds answers in the informers."""

    def __init__(
        self,
        informers: SharedInformers,
        mapper: DiscoveryMapper,
        barrier: WriteBarrier,
        namespaces: frozenset[str],
    ) -> None:
        self._informers = informers
        self._mapper = mapper
        self._barrier = barrier
        self._namespaces = namespaces

    async def answer(
        self, info: RequestInfo, query: Mapping[str, str], accept: str, grant: Grant
    ) -> tuple[web.Response, list[Object]] | None:
        """The answer and the objects in it; None if the API server has to answer."""
        informer = await self._informer(info, query, accept, grant)
        if informer is None:
            _log.debug("Skipping cache lookup", resource=info.record())
            return None
        if info.verb == "get":
            namespace = info.namespace if informer.resource.namespaced else ""
            obj = self._barrier.object_if_fresh(informer, namespace, info.name)
            if obj is None or isinstance(obj, IncompleteObject):
                _log.debug(f"Cache miss: {informer.resource.gvk}, {namespace}/{info.name}")
                return None
            whole = _typed(informer.resource, obj)
            _log.debug("Read object from cache", resource=info.record())
            return _hit(whole), [whole]
        return self._list(informer, info, query)

    async def _informer(
        self, info: RequestInfo, query: Mapping[str, str], accept: str, grant: Grant
    ) -> KindInformer | None:
        """The informer that may answer the request, if there is one."""
        is_read = info.verb in {"get", "list"} and info.subresource in {"", "status"}
        if not is_read or not accepts_json(accept) or not _is_plain(query):
            return None
        if self._namespaces and info.namespace not in self._namespaces:
            return None
        try:
            resource = await self._mapper.by_plural(info.group, info.version, info.resource)
        except KubeError as error:
            _log.info("Cache miss, discovery failed", err=str(error))
            return None
        if resource is None:
            _log.info("Cache miss, can not find in rest mapper", resource=info.record())
            return None
        if resource.is_virtual or resource.gvk in grant.limits.blacklist:
            _log.debug("Skipping, because gvk is virtual or blacklisted", gvk=str(resource.gvk))
            return None
        informer = self._informers.peek(resource)
        return informer if informer is not None and informer.synced.is_set() else None

    def _list(
        self, informer: KindInformer, info: RequestInfo, query: Mapping[str, str]
    ) -> tuple[web.Response, list[Object]] | None:
        selector = simple_selector(query.get("labelSelector", ""))
        if selector is None or query.get("fieldSelector") or not informer.resource_version:
            return None
        if not self._barrier.is_list_fresh(informer, info.namespace):
            return None
        found = [obj for obj in informer.list(info.namespace) if _matches(obj, selector)]
        # Clients request long pages by habit. One that holds all is what the server would answer.
        if any(isinstance(obj, IncompleteObject) for obj in found):
            return None
        if len(found) > min(LONGEST_LIST, int(query.get("limit") or LONGEST_LIST)):
            return None
        items = [_typed(informer.resource, obj) for obj in sorted(found, key=_place)]
        encoded = _encoded(items)
        if encoded is None:
            return None
        gvk = informer.resource.gvk
        listed = {
            "kind": f"{gvk.kind}List",
            "apiVersion": gvk.api_version,
            "metadata": {"resourceVersion": informer.resource_version},
            "items": encoded,
        }
        return _hit(listed), items


def _is_plain(query: Mapping[str, str]) -> bool:
    """Whether a cache can honour every parameter of the request."""
    is_known = query.keys() <= _HARMLESS and query.get("limit", "").strip("0123456789") == ""
    return is_known and query.get("resourceVersion", "") in {"", "0"}


def _matches(obj: Object, selector: Mapping[str, str]) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def _place(obj: Object) -> str:
    """What the API server orders lists by; a cache has its objects as they came."""
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _typed(resource: ResourceType, obj: Object) -> Object:
    """The object with its type, which items of the API server's lists leave out."""
    if "kind" in obj and "apiVersion" in obj:
        return obj
    return {"kind": resource.gvk.kind, "apiVersion": resource.gvk.api_version, **obj}


def _encoded(items: Iterable[Object]) -> list[msgspec.Raw] | None:
    """Each item as JSON; None if they are more than :data:`LARGEST_LIST`."""
    encoded, size = [], 0
    for item in items:
        raw = msgspec.json.encode(item)
        size += len(raw)
        if size > LARGEST_LIST:
            return None
        encoded.append(msgspec.Raw(raw))
    return encoded


def _hit(document: Mapping[str, Any]) -> web.Response:
    body = msgspec.json.format(msgspec.json.encode(document), indent=2)
    return web.Response(body=body, content_type="application/json", headers={"X-Cache": "HIT"})
