# SPDX-License-Identifier: Apache-2.0
"""What can go wrong between this collection and an API server.

Every message says what was attempted, on which object, and which field or setting is to blame.
Bodies that are not a Kubernetes ``Status`` are never quoted: they may hold secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class KubeError(Exception):
    """The API server could not be reached or did not do what was asked."""


class MissingLibrary(KubeError):
    """The Python package that loads kubeconfigs is not installed."""


class BadConnection(KubeError):
    """The connection options lead nowhere: unreadable kubeconfig, no answer, wrong certificate."""


class BadManifest(KubeError):
    """An object that cannot be addressed: no kind, no name, no namespace."""


class Foreign(KubeError):
    """An object of that name exists and belongs to somebody else."""


class OwnerDeleted(KubeError):
    """An object without an owner was going to get one that is being deleted."""


class WaitExpired(KubeError):
    """A wait reached its deadline."""


class ApiError(KubeError):
    """The API server answered with an error.

    Attributes:
        status: HTTP status code.
        reason: Kubernetes' reason, e.g. ``Invalid``; empty when the answer had none.
        fields: the fields to blame, as paths like ``spec.replicas``.
    """

    def __init__(self, message: str, status: int, reason: str, fields: list[str]) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.fields = fields


class NotFound(ApiError):
    """The object, its namespace or its kind does not exist."""


class Conflict(ApiError):
    """The object exists already, was changed meanwhile, or a field belongs to someone else."""


class Outdated(Conflict):
    """The object was changed since it was decided what to write: that is decided anew."""


class Refused(ApiError):
    """The object is invalid, or an admission check or missing rights refuse it."""


class Unavailable(ApiError):
    """The server is overloaded or starting; the same request may succeed later."""


_LONGEST = 4000
"""Characters of a message: those of an object with many invalid fields."""
_CLASSES: Mapping[int, type[ApiError]] = {
    400: Refused,
    401: Refused,
    403: Refused,
    404: NotFound,
    409: Conflict,
    415: Refused,
    422: Refused,
    429: Unavailable,
    500: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_from_answer(attempt: str, status: int, body: object) -> ApiError:
    """Turn an answer of 400 or above into the error to raise.

    Args:
        attempt: what was tried, e.g. ``apply StatefulSet prod/mo-log``.
        status: HTTP status code.
        body: the decoded answer, a ``Status`` object if all is well.
    """
    known: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    if known.get("kind") != "Status":
        known = {}
    details = known.get("details")
    found = details.get("causes") if isinstance(details, Mapping) else None
    causes = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    said = _blame(causes) or str(known.get("message") or "") or f"HTTP status {status}"
    said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
    message = f"{attempt}: {said}"
    if status == 403 and known.get("reason") == "Forbidden":
        message += " (the account in use lacks this right)" if "cannot" in said else ""
    fields = [str(cause["field"]) for cause in causes if cause.get("field")]
    made = _CLASSES.get(status, ApiError)
    return made(message, status, str(known.get("reason") or ""), fields)


def _blame(causes: list[Mapping[str, Any]]) -> str:
    """List the causes of a ``Status`` as ``field: message``, each once."""
    lines: dict[str, None] = {}
    for cause in causes:
        field = str(cause.get("field") or "").removeprefix(".")
        text = str(cause.get("message") or cause.get("reason") or "")
        lines.setdefault(f"{field}: {text}" if field and field != "<nil>" else text)
    return "; ".join(line for line in lines if line)
