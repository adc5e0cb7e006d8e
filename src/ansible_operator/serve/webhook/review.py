# SPDX-License-Identifier: Apache-2.0
"""AdmissionReview in, AdmissionReview out (Kubernetes: ``admission.k8s.io/v1``). Pure."""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from ansible_operator.errors import OperatorError
from ansible_operator.kube.documents import UnreadableAnswerError, cut_object, decode
from ansible_operator.kube.interface import GroupVersionKind, Object
from ansible_operator.nesting import OBJECT_LEVELS


class MalformedReviewError(OperatorError):
    """The body is not an AdmissionReview with a request."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Why an object is refused.

    Attributes:
        message: shown to the user.
        field: dotted path of the field; ``""`` for the whole object.
        reason: a cause as Kubernetes names them, such as ``FieldValueForbidden``.
    """

    message: str
    field: str = ""
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of the functions of a watch about an object.

    Attributes:
        object: the object with defaults filled in; None for no change.
        mistakes: why it is refused; empty to allow it.
        warnings: shown to the user either way.
    """

    object: Object | None = None
    mistakes: tuple[Mistake, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The request of an AdmissionReview.

    Attributes:
        uid: identifies question and answer.
        gvk: the kind that the webhook was registered for, whatever version was sent.
        operation: CREATE, UPDATE or DELETE.
        object: as it is to be stored; on DELETE the one that is deleted.
        old: as it is stored now; None on CREATE.
        name: ``""`` when the API server makes one up.
        namespace: ``""`` for objects without one.
        subresource: ``""`` for the object itself.
        is_dry_run: whether nothing will be stored.
        user: who sent the request: ``username``, ``uid``, ``groups``, ``extra``.
        too_deep_at: where the object is nested too deep for functions; ``""`` if it is not. What
            is deeper is left out, of the old object, too.
        was_too_deep: whether the old object is so.
    """

    uid: str
    gvk: GroupVersionKind
    operation: str
    object: Object
    old: Object | None
    name: str = ""
    namespace: str = ""
    subresource: str = ""
    is_dry_run: bool = False
    user: Mapping[str, Any] = field(default_factory=dict)
    too_deep_at: str = ""
    was_too_deep: bool = False


LARGEST_REVIEW = 4 << 20
"""Bytes of a body. etcd stores objects of up to 1.5 MiB; a review has two of them, as it is and as
it is to be, and the user with groups. What is larger could not be stored."""
MOST_VALUES = 200_000
"""Values in a body, about: 20 bytes for each in the largest one. Parsed, a value takes up to 150
bytes, so that 4 MiB of empty lists would be 115 MiB."""

Judge: TypeAlias = Callable[[Question, bool, float], Awaitable[Verdict]]
"""Calls the functions of a watch: the question, whether to fill in defaults (else to validate), and
the seconds that there are.

Raises:
    OperatorError: they cannot answer; the failure policy then decides.
"""


def parse_review(body: bytes, gvk: GroupVersionKind) -> Question:
    """Read the body of a webhook call.

    Args:
        body: an AdmissionReview.
        gvk: the kind that the webhook was registered for; the object of a subresource has another.

    Raises:
        MalformedReviewError: it is something else, or larger than what could be stored.
    """
    if len(body) > LARGEST_REVIEW:
        raise MalformedReviewError(f"longer than {LARGEST_REVIEW} bytes")
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise MalformedReviewError(f"more than {MOST_VALUES} values")
    try:
        request = decode(body)["request"]
        operation, old = request["operation"], request.get("oldObject")
        was_too_deep_at = cut_object(old) if old is not None else ""
        too_deep_at = "" if operation == "DELETE" else cut_object(request["object"])
        return Question(
            uid=request["uid"],
            gvk=gvk,
            operation=operation,
            object=dict(old if operation == "DELETE" else request["object"]),
            old=old,
            name=request.get("name") or "",
            namespace=request.get("namespace") or "",
            subresource=request.get("subResource") or "",
            is_dry_run=bool(request.get("dryRun")),
            user=dict(request.get("userInfo") or {}),
            too_deep_at=too_deep_at,
            was_too_deep=bool(was_too_deep_at),
        )
    except (UnreadableAnswerError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedReviewError(f"not an AdmissionReview: {error!r}") from error


def verdict_on_depth(question: Question) -> Verdict | None:
    """The answer to a question that no function can be asked; None for any other.

    An object that has been too deep already may be changed: its finalizers are removed that way.
    """
    if not question.too_deep_at:
        return None
    problem = f"nested more than {OBJECT_LEVELS} levels deep"
    if question.was_too_deep:
        return Verdict(warnings=(f"{question.too_deep_at}: {problem}, so it is not run",))
    return Verdict(mistakes=(Mistake(problem, question.too_deep_at),))


def make_answer(question: Question, verdict: Verdict, *, may_change: bool) -> dict[str, Any]:
    """The AdmissionReview to answer with.

    Args:
        question: the request.
        verdict: the answer of the functions.
        may_change: whether defaults are filled in (mutating) or only mistakes count (validating).
    """
    refused = bool(verdict.mistakes) and not may_change
    response: dict[str, Any] = {"uid": question.uid, "allowed": not refused}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if refused:
        response["status"] = _status(question, verdict.mistakes)
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


def _status(question: Question, mistakes: Sequence[Mistake]) -> dict[str, Any]:
    """A refusal as the API server itself words one, with a cause for each mistake."""
    causes = [
        {"reason": mistake.reason, "message": mistake.message, "field": mistake.field}
        for mistake in mistakes
    ]
    return {
        "code": 422,
        "reason": "Invalid",
        "message": "; ".join(map(str, mistakes)),
        "details": {
            "group": question.gvk.group,
            "kind": question.gvk.kind,
            "name": question.name,
            "causes": causes,
        },
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
