# SPDX-License-Identifier: Apache-2.0
"""AdmissionReview in, AdmissionReview out (Kubernetes: ``admission.k8s.io/v1``). Pure."""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from ansible_operator.errors import OperatorError
from ansible_operator.kube.interface import GroupVersionKind, Object


class MalformedReviewError(OperatorError):
    """What was posted is no AdmissionReview with a request."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the functions of a watch say about an object.

    Attributes:
        object: the object with defaults filled in; None for no change.
        errors: why it is refused, one sentence each; empty to allow it.
        warnings: what the user is told either way.
    """

    object: Object | None = None
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The request of an AdmissionReview.

    Attributes:
        uid: identifies question and answer.
        operation: CREATE or UPDATE.
        object: as it is to be stored.
        old: as it is stored now; None on CREATE.
    """

    uid: str
    gvk: GroupVersionKind
    operation: str
    object: Object
    old: Object | None


Judge: TypeAlias = Callable[[Question], Awaitable[Verdict]]
"""Asks the functions of the watch of ``question.gvk``.

Raises:
    OperatorError: they cannot answer; the API server then does what the failure policy says.
"""


def parse_review(body: bytes) -> Question:
    """Read the body of a webhook call.

    Raises:
        MalformedReviewError: it is something else.
    """
    try:
        request = msgspec.json.decode(body, type=dict[str, Any])["request"]
        kind = request["kind"]
        return Question(
            uid=request["uid"],
            gvk=GroupVersionKind(kind["group"], kind["version"], kind["kind"]),
            operation=request["operation"],
            object=dict(request["object"]),
            old=request.get("oldObject"),
        )
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise MalformedReviewError(f"not an AdmissionReview: {error!r}") from error


def make_answer(question: Question, verdict: Verdict, *, may_change: bool) -> dict[str, Any]:
    """The AdmissionReview to answer with.

    Args:
        question: what was asked.
        verdict: what the functions say.
        may_change: whether defaults are filled in (mutating) or only errors count (validating).
    """
    response: dict[str, Any] = {"uid": question.uid, "allowed": not verdict.errors}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if verdict.errors:
        response["status"] = {
            "code": 422,
            "reason": "Invalid",
            "message": "; ".join(verdict.errors),
        }
    elif may_change and verdict.object is not None:
        operations = json_patch(question.object, verdict.object)
        if operations:
            response["patchType"] = "JSONPatch"
            patch = msgspec.json.encode(operations)
            response["patch"] = base64.b64encode(patch).decode()
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    }


def json_patch(before: Any, after: Any, path: str = "") -> list[dict[str, Any]]:
    """Operations (RFC 6902) that turn one document into another; lists are replaced whole."""
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        # Compared as JSON: in Python 1 equals True.
        if msgspec.json.encode(before) == msgspec.json.encode(after):
            return []
        return [{"op": "replace", "path": path, "value": after}]
    operations: list[dict[str, Any]] = [
        {"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in before if key not in after
    ]
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            operations += json_patch(before[key], value, place)
        else:
            operations.append({"op": "add", "path": place, "value": value})
    return operations


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
