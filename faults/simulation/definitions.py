# SPDX-License-Identifier: Apache-2.0
"""The kinds of the collection as their CRDs describe them, and what an API server does with that.

Structural schemas only: rules in CEL are left to the real API server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from faults import ROOT

Json = dict[str, Any]
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_LIMITS: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((str,), "minLength", "maxLength"),
    ((list,), "minItems", "maxItems"),
    ((dict,), "minProperties", "maxProperties"),
    ((int, float), "minimum", "maximum"),
)
_FORMATS = {"int32": 32, "int64": 64}
"""Bits of an integer, by its format."""
_BUILT_IN = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True)
class Definition:
    """One kind.

    Attributes:
        group_version: e.g. ``core.matrixorigin.io/v1alpha1``.
        kind: e.g. ``LogSet``.
        plural: e.g. ``logsets``.
        is_namespaced: its scope.
        schema: of whole objects.
    """

    group_version: str
    kind: str
    plural: str
    is_namespaced: bool
    schema: Json

    @property
    def parts(self) -> list[str]:
        """The top-level fields that users write: ``spec``, ``deps``, ``meta``, and more."""
        return [part for part in self.schema["properties"] if part not in {*_BUILT_IN, "status"}]


@cache
def definitions() -> Mapping[str, Definition]:
    """Return the kinds by name."""
    found = {}
    for file in sorted((ROOT / "crds").glob("*.yaml")):
        crd = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["spec"]
        version, named = crd["versions"][0], crd["names"]
        found[named["kind"]] = Definition(
            f"{crd['group']}/{version['name']}",
            named["kind"],
            named["plural"],
            crd["scope"] == "Namespaced",
            version["schema"]["openAPIV3Schema"],
        )
    return found


def admitted(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value as the API server stores it: pruned, with defaults."""
    if isinstance(value, dict) and schema.get("type") == "object":
        return _object(schema, value)
    if isinstance(value, list) and "items" in schema:
        return [admitted(schema["items"], element) for element in value]
    return value


def _object(schema: Mapping[str, Any], value: Json) -> Json:
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    stored = {}
    for name, inner in value.items():
        if name in properties:
            # A null of a field that has a default, or may not be null, is as good as none.
            if inner is not None or properties[name].get("nullable"):
                stored[name] = admitted(properties[name], inner)
        elif isinstance(extra, Mapping):
            stored[name] = admitted(extra, inner)
        elif keeps or extra is True:
            stored[name] = inner
    for name, inner in properties.items():
        if name not in stored and "default" in inner:
            stored[name] = admitted(inner, inner["default"])
    return stored


def mistakes(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Yield what the API server says about a value that does not fit its schema."""
    expected = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            yield f"{path}: must be a number or a text"
            return
    elif value is None:
        if not schema.get("nullable"):
            yield f"{path}: must not be null"
        return
    elif expected and not _fits(expected, value):
        yield f"{path}: must be of type {expected}"
        return
    yield from _bounds(schema, value, path)
    if isinstance(value, dict):
        yield from _in_object(schema, value, path)
    elif isinstance(value, list):
        for number, element in enumerate(value):
            yield from mistakes(schema.get("items") or {}, element, f"{path}[{number}]")


def _fits(expected: str, value: Any) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    return isinstance(value, _TYPES[expected])


def _in_object(schema: Mapping[str, Any], value: Json, path: str) -> Iterator[str]:
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{path}.{name}: required"
    for name, inner in value.items():
        if name in properties:
            yield from mistakes(properties[name], inner, f"{path}.{name}")
        elif isinstance(extra, Mapping):
            yield from mistakes(extra, inner, f"{path}.{name}")


def _bounds(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: must be one of {schema['enum']}"
    pattern = _python_pattern(schema.get("pattern") or "")
    if isinstance(value, str) and not re.search(pattern, value):
        yield f"{path}: does not match {schema['pattern']}"
    if isinstance(value, bool) or value is None:
        return
    bits = _FORMATS.get(str(schema.get("format")))
    if bits and isinstance(value, int) and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        yield f"{path}: must be a valid {schema['format']}"
    for kinds, fewest, most in _LIMITS:
        if isinstance(value, kinds):
            size = _size(value)
            if fewest in schema and size < schema[fewest]:
                yield f"{path}: must be at least {schema[fewest]}"
            if most in schema and size > schema[most]:
                yield f"{path}: must be at most {schema[most]}"


def _size(value: Any) -> float:
    return value if isinstance(value, (int, float)) else len(value)


def _python_pattern(pattern: str) -> str:
    """Return a pattern of Go's for Python: its dollar sign also matches before a final newline."""
    return re.sub(r"(?<!\\)\$(?=$|\)|\|)", r"\\Z", pattern)
