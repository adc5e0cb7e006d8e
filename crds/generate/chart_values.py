# SPDX-License-Identifier: Apache-2.0
"""The schema of the values of the chart ``matrixone``: its own, and the spec of a cluster."""

import json
from typing import Any

from crds.generate.sources import Json, Kind

FILE = "charts/matrixone/values.schema.json"
CLUSTER = "MatrixOneCluster"
_KEPT = frozenset(
    {
        *("type", "description", "enum", "pattern", "anyOf", "required", "format"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
        *("minProperties", "maxProperties"),
    }
)
_NAME = "^([a-z]([-a-z0-9]*[a-z0-9])?)?$"
_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}


def text(kinds: list[Kind]) -> str:
    """The file, the same bytes for the same kinds."""
    kind = next(kind for kind in kinds if kind.name == CLUSTER)
    spec = _values(kind.schema["properties"]["spec"])
    return json.dumps(_schema(spec), ensure_ascii=False, indent=1) + "\n"


def _schema(spec: Json) -> Json:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart matrixone",
        **_closed(
            {
                "global": {"type": "object"},
                "name": {"type": "string", "pattern": _NAME, "maxLength": 43},
                "labels": _TEXTS,
                "annotations": _TEXTS,
                "keepOnUninstall": {"type": "boolean"},
                "objectStore": _closed(
                    {"accessKeyId": {"type": "string"}, "secretAccessKey": {"type": "string"}}
                ),
                "root": _closed(
                    {
                        "username": {"type": "string", "minLength": 1},
                        "password": {"type": "string"},
                    }
                ),
                "spec": spec,
            }
        ),
    }


def _closed(properties: Json) -> Json:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _values(node: Any) -> Json:
    """A structural schema as JSON schema that knows no other fields."""
    schema: Json = {key: value for key, value in node.items() if key in _KEPT}
    if "properties" in node:
        schema["properties"] = {
            name: _values(part) for name, part in node["properties"].items() if part
        }
        schema["additionalProperties"] = bool(node.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(node.get("additionalProperties"), dict):
        schema["additionalProperties"] = _values(node["additionalProperties"])
    if "items" in node:
        schema["items"] = _values(node["items"])
    return schema
