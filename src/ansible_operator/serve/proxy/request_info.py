# SPDX-License-Identifier: Apache-2.0
"""What a request to the Kubernetes API is about, read from its path."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ansible_operator.errors import OperatorError

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_SPECIAL_VERBS = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_FALSE = frozenset({"false", "0"})


class UnreadableRequestError(OperatorError):
    """The path is one of the API but names neither kind nor namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInfo:
    """Verb and object of one request; empty strings for what the path does not contain.

    Attributes:
        verb: get, list, watch, create, update, patch, delete, deletecollection or proxy; the
            method in lower case for requests that are not about a resource.
        prefix: ``api`` or ``apis``.
        resource: plural name of the kind.
        parts: path segments from the resource on.
    """

    is_resource: bool
    path: str
    verb: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The fields under the names and in the order that logs show them."""
        return {
            "IsResourceRequest": self.is_resource,
            "Path": self.path,
            "Verb": self.verb,
            "APIPrefix": self.prefix,
            "APIGroup": self.group,
            "APIVersion": self.version,
            "Namespace": self.namespace,
            "Resource": self.resource,
            "Subresource": self.subresource,
            "Name": self.name,
            "Parts": list(self.parts),
        }


def parse_request(method: str, raw_path: str, query: Mapping[str, str]) -> RequestInfo:
    """Read method, path (still percent-encoded, without the query) and query parameters.

    Raises:
        UnreadableRequestError: a special verb stands at the end of the path.
    """
    path = unquote(raw_path)
    other = RequestInfo(is_resource=False, path=path, verb=method.lower())
    parts: Sequence[str] = [unquote(part) for part in raw_path.strip("/").split("/") if part]
    if len(parts) < 3 or parts[0] not in {"api", "apis"}:
        return other
    prefix, group, rest = parts[0], "", parts[1:]
    if prefix == "apis":
        if len(rest) < 3:
            return other
        group, rest = rest[0], rest[1:]
    version, rest = rest[0], rest[1:]
    verb, rest = _verb(method, rest)
    namespace, rest = _namespace(rest)
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name:
        verb, name = _collection(verb, query)
    return RequestInfo(
        is_resource=True,
        path=path,
        verb=verb,
        prefix=prefix,
        group=group,
        version=version,
        namespace=namespace,
        resource=rest[0],
        subresource=subresource,
        name=name,
        parts=tuple(rest),
    )


def _verb(method: str, parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    if parts[0] not in _SPECIAL_VERBS:
        return _VERBS.get(method, ""), parts
    if len(parts) < 2:
        raise UnreadableRequestError("unable to determine kind and namespace from url")
    return parts[0], parts[1:]


def _namespace(parts: Sequence[str]) -> tuple[str, Sequence[str]]:
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return parts[1], parts[2:]
    return parts[1], parts


def _collection(verb: str, query: Mapping[str, str]) -> tuple[str, str]:
    """Verb and name of a request whose path ends with the plural."""
    if verb == "delete":
        return "deletecollection", ""
    if verb != "get":
        return verb, ""
    watches = "watch" in query and query["watch"].lower() not in _FALSE
    return ("watch" if watches else "list"), _selected_name(query.get("fieldSelector", ""))


def _selected_name(selector: str) -> str:
    for term in selector.split(","):
        field, equals, value = term.partition("=")
        if equals and field == "metadata.name":
            return value.removeprefix("=")
    return ""
