# SPDX-License-Identifier: Apache-2.0
"""The few fields of API objects that the proxy reads, and the answers of its own."""

from typing import Any, TypeVar

import msgspec
from aiohttp import web

T = TypeVar("T")

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    407: "Unauthorized",
    413: "RequestEntityTooLarge",
    500: "InternalError",
    502: "ServiceUnavailable",
}
_CHALLENGES = {401: "WWW-Authenticate", 407: "Proxy-Authenticate"}


class OwnerReference(msgspec.Struct):
    """The owner of an object, as far as it is compared."""

    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    uid: str = ""


class Metadata(msgspec.Struct):
    """What the proxy reads of an object's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    ownerReferences: list[OwnerReference] | None = None  # noqa: N815
    annotations: dict[str, str] | None = None
    managedFields: list[dict[str, Any]] | None = None  # noqa: N815

    def owners(self) -> dict[str, Any]:
        """The part that names owners, in the shape of an object's metadata."""
        references = [msgspec.structs.asdict(item) for item in self.ownerReferences or []]
        return {"ownerReferences": references, "annotations": self.annotations or {}}


class Details(msgspec.Struct):
    """``details`` of a Status."""

    name: str = ""
    uid: str = ""


class Head(msgspec.Struct):
    """An object, or a Status, without its body."""

    kind: str = ""
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    details: Details | None = None


class Heads(msgspec.Struct):
    """A list of objects without their bodies."""

    kind: str = ""
    items: list[Head] = msgspec.field(default_factory=list)


def decode(body: bytes, shape: type[T]) -> T | None:
    """The body in that shape; None for anything else (tables, logs, foreign answers)."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (ValueError, RecursionError):
        return None


def status_response(code: int, message: str) -> web.Response:
    """A Kubernetes Status, which clients show as they show the API server's own."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": REASONS.get(code, ""),
        "code": code,
    }
    response = web.Response(
        status=code, body=msgspec.json.encode(body), content_type="application/json"
    )
    if code in _CHALLENGES:
        response.headers[_CHALLENGES[code]] = 'Basic realm="ansible-operator"'
    return response
