# SPDX-License-Identifier: Apache-2.0
"""Descriptors of fields for the console of the Operator Lifecycle Manager, from a CRD's schema."""

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

DEPTH = 3
_SPEC = "urn:alm:descriptor:com.tectonic.ui:"
_STATUS = "urn:alm:descriptor:io.kubernetes"
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def spec_descriptors(schema: Json) -> list[Json]:
    """Of every field down to the third level that a form can show, in the schema's order."""
    return list(_described(schema.get("properties", {}), "", 1, _of_spec))


def status_descriptors(schema: Json) -> list[Json]:
    """Of every field of the status's first level."""
    return list(_described(schema.get("properties", {}), "", DEPTH, _of_status))


def _described(properties: Json, prefix: str, depth: int, shown: Any) -> Iterator[Json]:
    for name, field in properties.items():
        path = f"{prefix}{name}"
        descriptor = shown(name, field)
        if descriptor is not None:
            yield {
                "path": path,
                "displayName": title(path),
                "description": field.get("description", ""),
                **({"x-descriptors": [descriptor]} if descriptor else {}),
            }
        elif depth < DEPTH and "properties" in field:
            yield from _described(field["properties"], f"{path}.", depth + 1, shown)


def title(path: str) -> str:
    """A path for people: ``logService.replicas`` is "Log service replicas"."""
    words = " ".join(_WORDS.sub(" ", part).lower() for part in path.split("."))
    return words[:1].upper() + words[1:]


def _of_spec(name: str, field: Json) -> str | None:
    """The descriptor of a field; "" for none, None where the field itself is not shown."""
    if name == "replicas":
        return f"{_SPEC}podCount"
    if name == "resources":
        return f"{_SPEC}resourceRequirements"
    if name.lower().endswith("secretref"):
        return ""
    if "enum" in field:
        return f"{_SPEC}select:{field['enum'][0]}"
    kinds = {"boolean": "booleanSwitch", "integer": "number", "string": "text"}
    kind = "string" if field.get("x-kubernetes-int-or-string") else field.get("type")
    return f"{_SPEC}{kinds[kind]}" if kind in kinds else None


def _of_status(name: str, field: Json) -> str | None:
    if name == "conditions":
        return f"{_STATUS}.conditions"
    if name == "phase":
        return f"{_STATUS}.phase"
    return "" if field.get("type") in {"string", "integer", "boolean"} else None
