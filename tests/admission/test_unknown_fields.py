# SPDX-License-Identifier: Apache-2.0
"""Fields that a kind does not have are errors where no API server looks at them."""

import copy
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.unknown_fields import (
    unknown_fields,
)
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.manifests.schemas import (
    told,
    unknown_fields_of,
)

from tests.support.places import ROOT

OPEN = {
    *(
        "annotations",
        "deps",
        "labels",
        "limits",
        "matchLabels",
        "nodeSelector",
        "overlay",
        "owners",
    ),
    *("podAnnotations", "podLabels", "readinessProbe", "requests", "serviceAnnotations"),
    *("tolerations", "valueFrom"),
}
"""Fields that hold what users choose, parts of a Pod, or whole objects."""

SCHEMA = {
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "groups": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"size": {"type": "integer"}}},
                },
                "typed": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"a": {}}},
                },
            },
        },
        "status": {"type": "object"},
    }
}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ({"spec": {"name": "x"}}, []),
        ({"spec": {"nam": "x"}}, ["spec.nam: unknown field; did you mean name?"]),
        ({"spce": {}}, ["spce: unknown field; did you mean spec?"]),
        ({"spec": {"xyz": None}}, ["spec.xyz: unknown field; see docs/reference/api.md"]),
        ({"metadata": {"lables": {}}}, ["metadata.lables: unknown field; did you mean labels?"]),
        ({"spec": {"free": {"any": {"thing": 1}}, "labels": {"any": "y"}}}, []),
        (
            {"spec": {"groups": [{"size": 1}, {"siez": 2}]}},
            ["spec.groups[1].siez: unknown field; did you mean size?"],
        ),
        ({"spec": {"typed": {"k": {"b": 1}}}}, ["spec.typed.k.b: unknown field"]),
        # Of another type than the schema's: that is said by others.
        ({"spec": "x", "metadata": []}, []),
        ({"spec": {"groups": {"a": 1}, "labels": [1]}}, []),
    ],
)
def test_table(resource: dict[str, Any], expected: list[str]) -> None:
    mistakes = [str(mistake) for mistake in unknown_fields({"kind": "X", **resource}, SCHEMA)]
    assert len(mistakes) == len(expected)
    assert all(map(str.startswith, mistakes, expected))


def _examples() -> list[Any]:
    paths = sorted((ROOT / "examples").rglob("*.yaml"))
    contents = [content for path in paths for content in yaml.safe_load_all(path.read_text())]
    resources = [entry for entry in contents if isinstance(entry, dict)]
    return [entry for entry in resources if "matrixorigin" in entry.get("apiVersion", "")]


def test_every_example_has_known_fields_only() -> None:
    examples = _examples()
    assert len({entry["kind"] for entry in examples}) > 8
    assert [told(entry, wrong) for entry in examples if (wrong := unknown_fields_of(entry))] == []


def test_a_misspelt_field_is_found_at_every_depth_of_every_example() -> None:
    count = 0
    for example in _examples():
        for path in _objects(example, ()):
            changed = copy.deepcopy(example)
            place = changed
            for key in path:
                place = place[key]
            place["misspelt"] = 1
            mistakes = unknown_fields_of(changed)
            if not mistakes:
                assert OPEN & set(path), path
                continue
            count += 1
            assert len(mistakes) == 1
            assert mistakes[0].field.endswith("misspelt")
    assert count > 100


def _objects(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        inner = [entry for key in value for entry in _objects(value[key], (*path, key))]
        return [path, *inner]
    if isinstance(value, list):
        return [
            entry for index, item in enumerate(value) for entry in _objects(item, (*path, index))
        ]
    return []


@pytest.mark.parametrize(
    "resource",
    [
        {"apiVersion": "v1", "kind": "Secret", "data": {}},
        {"apiVersion": "core.matrixorigin.io/v9", "kind": "LogSet", "x": 1},
        {"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "../../x", "x": 1},
        {"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "logset", "x": 1},
        {"x": 1},
    ],
)
def test_nothing_is_said_of_kinds_without_a_schema(resource: dict[str, Any]) -> None:
    assert unknown_fields_of(resource) == []
