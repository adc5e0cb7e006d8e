# SPDX-License-Identifier: Apache-2.0
"""Answers of the API server as documents that nothing in this process trips over.

Whoever may create an object of some kind decides what stands in the fields that its schema leaves
open: the API server stores 10,000 levels of nesting, and Python's recursion ends at 1,000. So every
document is bounded here, where it enters, and what reads it may be recursive. What remains is an
:class:`IncompleteObject`, which is reported and never played.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ansible_operator.errors import OperatorError
from ansible_operator.kube.interface import Object
from ansible_operator.kube.names import is_name
from ansible_operator.nesting import OBJECT_LEVELS

_SLACK = 10
"""Levels that are left of a document that cannot even be decoded, so that it is still too deep."""
_ABSURD = 12_000
"""Levels that nobody stores: the API server takes 10,000."""
_SHOWN_STEPS = 6
_LONGEST_STEP = 40
_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


class UnreadableAnswerError(OperatorError):
    """An answer is not JSON, or not what was asked for."""


class IncompleteObject(dict[str, Any]):
    """An object of which all that is nested deeper than :data:`OBJECT_LEVELS` is left out.

    Attributes:
        where: path of the first part that is missing.
    """

    def __init__(self, obj: Object, where: str) -> None:
        super().__init__(obj)
        self.where = where

    @property
    def problem(self) -> str:
        """What is wrong and what to do, for people."""
        return (
            f"The object is nested more than {OBJECT_LEVELS} levels deep at {self.where}, so it is "
            "not run: flatten it there"
        )


class _Reference(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Metadata(msgspec.Struct):
    """The fields of ObjectMeta that are read anywhere, with their types."""

    name: str
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815
    generation: int | None = None
    creationTimestamp: str | None = None  # noqa: N815
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    ownerReferences: list[_Reference] | None = None  # noqa: N815
    managedFields: list[dict[str, Any]] | None = None  # noqa: N815


def decode(raw: bytes) -> dict[str, Any]:
    """A JSON object; with :func:`read_object` what is too deep in it is found.

    Raises:
        UnreadableAnswerError: it is none.
    """
    try:
        document = msgspec.json.decode(raw)
    except RecursionError:
        document = _decode_deep(raw)
    except ValueError as error:
        raise UnreadableAnswerError(f"the answer is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UnreadableAnswerError(f"the answer is no object but a {type(document).__name__}")
    return document


def _decode_deep(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(_shortened(raw, OBJECT_LEVELS + _SLACK))
    except (ValueError, RecursionError) as error:
        raise UnreadableAnswerError(f"the answer is not JSON: {error}") from error


def _shortened(raw: bytes, levels: int) -> bytes:
    """JSON text in which everything that is nested deeper has become ``null``.

    Raises:
        UnreadableAnswerError: it is nested deeper than anything that is stored.
    """
    parts: list[bytes] = []
    depth, begin = 0, 0
    for token in _TOKENS.finditer(raw):
        char = raw[token.start()]
        if char in b"[{":
            depth += 1
            if depth > _ABSURD:
                raise UnreadableAnswerError(f"the answer has more than {_ABSURD} levels")
            if depth == levels + 1:
                parts += (raw[begin : token.start()], b"null")
        elif char in b"]}":
            if depth == levels + 1:
                begin = token.end()
            depth -= 1
    parts.append(raw[begin:] if depth <= levels else b"")
    return b"".join(parts)


def read_object(item: Any) -> Object:
    """An object whose metadata can be relied on; an :class:`IncompleteObject` if it is too deep.

    Args:
        item: a decoded document, which is changed if it is too deep.

    Raises:
        UnreadableAnswerError: it is no object with a name, or its metadata are malformed.
    """
    if not isinstance(item, dict):
        raise UnreadableAnswerError(f"no object but a {type(item).__name__}")
    where = cut_object(item)
    try:
        metadata = msgspec.convert(item.get("metadata"), _Metadata)
    except (ValueError, TypeError) as error:
        raise UnreadableAnswerError(f"the metadata of an object are malformed: {error}") from error
    if not is_name(metadata.name) or not (metadata.namespace == "" or is_name(metadata.namespace)):
        shown = f"{metadata.namespace[:_LONGEST_STEP]}/{metadata.name[:_LONGEST_STEP]}"
        raise UnreadableAnswerError(f"{shown!r} names no object")
    return IncompleteObject(item, where) if where else item


def cut_object(obj: dict[str, Any]) -> str:
    """Bound an object in place; the path of the first part that is left out, ``""`` if none is.

    What is left out of ``managedFields`` does not count: no play needs it.
    """
    _cut_managed_fields(obj)
    return cut(obj, OBJECT_LEVELS)


def _cut_managed_fields(item: dict[str, Any]) -> None:
    """Bound what names the owners of fields: it is as deep as these, and no play needs it whole."""
    metadata = item.get("metadata")
    managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(managed, list):
        cut(managed, OBJECT_LEVELS - 2)


def cut(document: Any, levels: int) -> str:
    """Replace in place what is nested deeper by None; the path of its first part, ``""`` if none.

    A document without containers in it has one level.
    """
    level: list[Any] = [document]
    for _ in range(levels):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return ""
    return _cut_deep(document, levels)


def _cut_deep(document: Any, levels: int) -> str:
    """Do as :func:`cut` says with a document that is known to be too deep."""
    level: list[tuple[Any, Any]] = [(document, ())]
    path: Any = ()
    for number in range(levels):
        inside = [
            (value, steps, step, inner)
            for value, steps in level
            for step, inner in _items(value)
            if type(inner) is dict or type(inner) is list
        ]
        if number == levels - 1:
            for value, steps, step, _ in inside:
                path = path or (steps, step)
                value[step] = None
        level = [(inner, (steps, step)) for _, steps, step, inner in inside]
    return _shown(path)


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


def _shown(path: Any) -> str:
    """A path as text: its first steps, for it has :data:`OBJECT_LEVELS` of them."""
    steps: list[Any] = []
    while path:
        path, step = path
        steps.append(step)
    text = ""
    for step in steps[::-1][:_SHOWN_STEPS]:
        name = str(step)
        name = name if len(name) <= _LONGEST_STEP else f"{name[:_LONGEST_STEP]}..."
        text += f"[{name}]" if isinstance(step, int) else f".{name}"
    return text.removeprefix(".") + ("..." if len(steps) > _SHOWN_STEPS else "")
