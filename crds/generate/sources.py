# SPDX-License-Identifier: Apache-2.0
"""Reads ``crds/schema/`` and inlines its references.

A file that has the key ``kind`` describes a kind; every other file holds shared parts. A reference
``$ref: <file>#/<key>/<key>`` (or ``#/…`` within a file) stands for the part it names. Keys beside
it are laid over that part: mappings merge, ``required`` and ``x-kubernetes-validations`` add up,
anything else replaces, and ``null`` removes.
"""

import copy
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

ADDING_LISTS = frozenset({"required", "x-kubernetes-validations"})
GROUP = "core.matrixorigin.io"
VERSION = "v1alpha1"
DNS_LABEL = "^[a-z]([-a-z0-9]*[a-z0-9])?$"


class SchemaError(Exception):
    """The source is unusable; the text names the file or the dotted path and what is wrong."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind with every reference inlined.

    Attributes:
        source: file name under ``crds/schema/``.
        group: API group; the key of that name, or that of all other kinds.
        role: name of the kind's role and prefix of its variables; the key of that name, or the
            kind in lower case.
        scope: Namespaced, or Cluster; the key of that name.
        schema: the whole object as structural schema, without apiVersion, kind and metadata.
        columns: printer columns as CustomResourceDefinitions write them, without Age.
        scale: the scale subresource, or None.
        playbooks: whether its role plays resources that are not in the cluster; the key of that
            name, true if omitted.
    """

    source: str
    group: str
    role: str
    scope: str
    name: str
    plural: str
    short_names: list[str]
    description: str
    schema: Json
    columns: list[Json]
    scale: Json | None
    playbooks: bool = True

    @property
    def api_version(self) -> str:
        """Group and version, as objects name them."""
        return f"{self.group}/{VERSION}"


class Sources:
    """All files of one schema folder."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: _load(path) for path in sorted(folder.glob("*.yaml"))}

    def kinds(self) -> list[Kind]:
        """Every kind, in the order of their names."""
        found = [self._kind(name) for name, text in self._files.items() if "kind" in text]
        return sorted(found, key=lambda kind: kind.name)

    def _kind(self, source: str) -> Kind:
        text = self._files[source]
        whole = {key: value for key, value in text.items() if key != "definitions"}
        inlined = self._inline(whole, source, ())
        schema: Json = {
            "description": inlined["description"],
            "type": "object",
            "required": inlined["required"],
            "properties": inlined["properties"],
            "x-kubernetes-validations": [
                *_name_rules(inlined["nameLimit"]),
                *inlined.get("validations", []),
            ],
        }
        return Kind(
            source=source,
            group=inlined.get("group", GROUP),
            role=inlined.get("role", inlined["kind"].lower()),
            scope=inlined.get("scope", "Namespaced"),
            name=inlined["kind"],
            plural=inlined["plural"],
            short_names=inlined["shortNames"],
            description=inlined["description"],
            schema=_finished(schema, inlined["kind"]),
            columns=inlined["columns"],
            scale=inlined.get("scale"),
            playbooks=inlined.get("playbooks", True),
        )

    def _inline(self, node: Any, source: str, trail: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [self._inline(item, source, trail) for item in node]
        if not isinstance(node, dict):
            return node
        beside = {
            key: self._inline(value, source, trail) for key, value in node.items() if key != "$ref"
        }
        if "$ref" not in node:
            return beside
        file, _, pointer = node["$ref"].partition("#")
        target = f"{file or source}#{pointer}"
        if target in trail:
            raise SchemaError(f"{source}: {target} refers to itself")
        part = self._inline(self._part(target, source), file or source, (*trail, target))
        return _laid_over(part, beside) if beside else part

    def _part(self, target: str, source: str) -> Any:
        file, _, pointer = target.partition("#")
        try:
            keys = [key for key in pointer.split("/") if key]
            return functools.reduce(lambda node, key: node[key], keys, self._files[file])
        except (KeyError, TypeError) as error:
            raise SchemaError(f"{source}: nothing is found at $ref {target}") from error


def _load(path: Path) -> Json:
    text = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(text, dict):
        raise SchemaError(f"{path.name}: a mapping is expected")
    return text


def _laid_over(base: Any, beside: Json) -> Any:
    if not isinstance(base, dict):
        raise SchemaError(f"keys {sorted(beside)} cannot be laid over a {type(base).__name__}")
    result = copy.deepcopy(base)
    for key, value in beside.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = _laid_over(result[key], value)
        elif key in ADDING_LISTS and key in result:
            result[key] = [*result[key], *value]
        else:
            result[key] = value
    return result


def _name_rules(limit: int) -> list[Json]:
    """Rules that keep the names of all objects created for this one within 63 characters."""
    return [
        {
            "rule": f"size(self.metadata.name) <= {limit}",
            "message": f"metadata.name must not have more than {limit} characters",
            "reason": "FieldValueInvalid",
        },
        {
            "rule": f"self.metadata.name.matches('{DNS_LABEL}')",
            "message": (
                "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', "
                "beginning with a letter and not ending with '-'"
            ),
            "reason": "FieldValueInvalid",
        },
    ]


def _finished(node: Json, path: str) -> Json:
    """The schema with what follows from it said once: list types, defaults in descriptions."""
    result = dict(node)
    if result.get("type") == "array":
        result.setdefault("x-kubernetes-list-type", "atomic")
        result["items"] = _finished(result["items"], f"{path}[]")
    if isinstance(result.get("additionalProperties"), dict):
        result["additionalProperties"] = _finished(result["additionalProperties"], f"{path}.*")
    if "properties" in result:
        properties = result["properties"]
        result["properties"] = {
            key: _documented(_finished(value, f"{path}.{key}"), f"{path}.{key}")
            for key, value in properties.items()
        }
    return result


def _documented(node: Json, path: str) -> Json:
    if not node.get("description"):
        raise SchemaError(f"{path}: a description is missing")
    default = node.get("default")
    if default is None or default == {}:
        return node
    shown = ", ".join(default) if isinstance(default, list) else _scalar(default)
    return {**node, "description": f"{node['description']} Default: {shown}."}


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
