# SPDX-License-Identifier: Apache-2.0
"""Fields that a schema does not know: mostly a typo, and then the value that was meant is lost.

The API server refuses or drops them when a resource is stored. A resource that a playbook plays is
never stored, so this is said here: a mistyped ``pvcRetentionPolicy`` would delete volumes.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from .shapes import Mistake

Schema = Mapping[str, Any]

_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
_METADATA: Final = frozenset(
    {
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""The fields of ObjectMeta, which no schema of a CRD repeats."""


def unknown_fields(resource: Mapping[str, Any], schema: Schema) -> Iterator[Mistake]:
    """Yield the fields of a resource that its schema does not have.

    Args:
        resource: an object with ``apiVersion``, ``kind`` and ``metadata``.
        schema: ``openAPIV3Schema`` of its CRD. What it preserves without knowing is left alone.
    """
    known = {*_ENVELOPE, *(schema.get("properties") or {})}
    for name in resource:
        if name not in known:
            yield _unknown(name, name, known)
    metadata = resource.get("metadata")
    if isinstance(metadata, Mapping):
        for name in metadata:
            if name not in _METADATA:
                yield _unknown(f"metadata.{name}", name, _METADATA)
    for name, inner in (schema.get("properties") or {}).items():
        if name in resource and name not in _ENVELOPE:
            yield from _within(name, resource[name], inner)


def _within(path: str, value: Any, schema: Schema) -> Iterator[Mistake]:
    if isinstance(value, Mapping):
        yield from _of_object(path, value, schema)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for index, element in enumerate(value):
            yield from _within(f"{path}[{index}]", element, schema["items"])


def _of_object(path: str, value: Mapping[str, Any], schema: Schema) -> Iterator[Mistake]:
    properties = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    is_open = bool(additional) or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    for name, inner in value.items():
        if name in properties:
            yield from _within(f"{path}.{name}", inner, properties[name])
        elif isinstance(additional, Mapping):
            yield from _within(f"{path}.{name}", inner, additional)
        elif not is_open and schema.get("type") == "object":
            yield _unknown(f"{path}.{name}", name, properties)


def _unknown(path: str, name: str, known: Collection[str]) -> Mistake:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else "; see docs/reference/api.md"
    return Mistake(path, f"unknown field{hint}")
