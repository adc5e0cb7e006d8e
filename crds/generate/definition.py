# SPDX-License-Identifier: Apache-2.0
"""A kind as CustomResourceDefinition."""

from typing import Any

from crds.generate.sources import VERSION, Json, Kind
from crds.generate.yaml_text import generated

CATEGORY = "matrixone"

AGE = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
FIRST_KEYS = ("description", "type", "format", "enum", "default", "required")


def file_name(kind: Kind) -> str:
    """File of the definition under ``crds/``."""
    return f"{kind.group}_{kind.plural}.yaml"


def text(kind: Kind) -> str:
    """The definition as YAML, the same bytes for the same source."""
    return generated(kind.source, definition(kind), compact=True)


def definition(kind: Kind) -> Json:
    """The definition as the API server takes it."""
    subresources: Json = {"status": {}}
    if kind.scale:
        subresources["scale"] = kind.scale
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"app.kubernetes.io/part-of": CATEGORY},
        },
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": kind.short_names,
                "categories": [CATEGORY],
            },
            "scope": kind.scope,
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [*kind.columns, AGE],
                    "subresources": subresources,
                    "schema": {"openAPIV3Schema": _ordered(_whole_object(kind))},
                }
            ],
        },
    }


def _whole_object(kind: Kind) -> Json:
    schema = dict(kind.schema)
    if not schema["required"]:
        del schema["required"]
    schema["properties"] = {
        "apiVersion": {"type": "string", "description": f"{kind.api_version}."},
        "kind": {"type": "string", "description": f"{kind.name}."},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    return schema


def _ordered(node: Any) -> Any:
    """Schema keywords in one order, names of fields as the source has them."""
    if not isinstance(node, dict):
        return node
    keys = [key for key in FIRST_KEYS if key in node]
    keys += sorted(key for key in node if key not in FIRST_KEYS)
    result = {key: node[key] for key in keys}
    if "properties" in result:
        result["properties"] = {key: _ordered(value) for key, value in node["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = _ordered(node[key])
    return result
