# SPDX-License-Identifier: Apache-2.0
"""The generator: what it makes follows from the sources, completely and always the same."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.reasons import (
    ConditionType,
    Phase,
    Reason,
)

from crds.generate import __main__ as generate
from crds.generate.sources import SchemaError, Sources
from tests.crds.manifests import PLURALS, Json
from tests.support.places import ROOT

#: Bytes of a definition as JSON; client-side apply stores it in an annotation of at most 262144.
LARGEST = 250_000
#: Bytes of all definitions together: a Helm release holds at most 1 MiB.
LARGEST_SUM = 900_000

SCHEMA = ROOT / "crds" / "schema"
DEFINITIONS = sorted((ROOT / "crds").glob("*.yaml"))


def _copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "crds", tmp_path / "crds")
    assert generate.main(["--root", str(tmp_path)]) == 0
    return tmp_path


def test_the_repository_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """What is committed is what the sources say."""
    assert generate.main(["--check"]) == 0, capsys.readouterr().err


def test_check_names_what_differs_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CI says which file to regenerate."""
    root = _copy(tmp_path)
    edited = root / "crds" / "core.matrixorigin.io_cnsets.yaml"
    edited.write_text("changed by hand\n")
    (root / "docs" / "reference" / "api.md").unlink()
    left_over = root / "crds" / "core.matrixorigin.io_gone.yaml"
    left_over.touch()
    assert generate.main(["--check", "--root", str(root)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in said] == [
        "crds/core.matrixorigin.io_cnsets.yaml",
        "crds/core.matrixorigin.io_gone.yaml",
        "docs/reference/api.md",
    ]
    assert edited.read_text() == "changed by hand\n"
    assert generate.main(["--root", str(root)]) == 0
    assert generate.main(["--check", "--root", str(root)]) == 0
    assert not left_over.exists()


def test_a_further_kind_needs_one_file_only(tmp_path: Path) -> None:
    """The kinds that are still to come are added by their source alone."""
    root = _copy(tmp_path)
    (root / "crds" / "schema" / "thing.yaml").write_text(
        yaml.safe_dump(
            {
                "kind": "Thing",
                "plural": "things",
                "shortNames": ["moth"],
                "nameLimit": 63,
                "description": "A thing.",
                "required": [],
                "columns": {"$ref": "columns.yaml#/set"},
                "properties": {
                    "spec": {
                        "$ref": "cnset.yaml#/definitions/CNSetSpec",
                        "description": "What is wanted.",
                    }
                },
            }
        )
    )
    assert generate.main(["--root", str(root)]) == 0
    definition = yaml.safe_load((root / "crds/core.matrixorigin.io_things.yaml").read_text())
    assert definition["spec"]["names"]["kind"] == "Thing"
    assert (root / "roles/thing/meta/argument_specs.yml").is_file()
    assert "## Thing" in (root / "docs/reference/api.md").read_text()


def _kind(tmp_path: Path, properties: Json, **shared: Json) -> Json:
    """The schema that comes out of a kind with these properties, and files beside it."""
    (tmp_path / "thing.yaml").write_text(
        yaml.safe_dump(
            {
                "kind": "Thing",
                "plural": "things",
                "shortNames": [],
                "nameLimit": 63,
                "description": "A thing.",
                "required": [],
                "columns": [],
                "properties": properties,
            }
        )
    )
    for name, content in shared.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    properties = Sources(tmp_path).kinds()[0].schema["properties"]
    assert isinstance(properties, dict)
    return properties


def test_a_reference_is_laid_under_the_keys_beside_it(tmp_path: Path) -> None:
    """Mappings merge, `required` and rules add up, the rest replaces, null removes."""
    base = {
        "description": "base",
        "type": "object",
        "required": ["a"],
        "x-kubernetes-validations": [{"rule": "1"}],
        "properties": {
            "a": {"type": "string", "description": "A."},
            "b": {"type": "string", "description": "B."},
        },
    }
    schema = _kind(
        tmp_path,
        {
            "spec": {
                "$ref": "shared.yaml#/parts/base",
                "description": "mine",
                "required": ["c"],
                "x-kubernetes-validations": [{"rule": "2"}],
                "properties": {
                    "a": {"maxLength": 3},
                    "b": None,
                    "c": {"type": "integer", "description": "C.", "default": 1},
                },
            }
        },
        shared={"parts": {"base": base}},
    )
    assert schema["spec"] == {
        "description": "mine",
        "type": "object",
        "required": ["a", "c"],
        "x-kubernetes-validations": [{"rule": "1"}, {"rule": "2"}],
        "properties": {
            "a": {"type": "string", "description": "A.", "maxLength": 3},
            "c": {"type": "integer", "description": "C. Default: 1.", "default": 1},
        },
    }


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"spec": {"type": "object"}}, "Thing.spec: a description is missing"),
        (
            {"spec": {"type": "object", "description": "S.", "properties": {"a": {"type": "x"}}}},
            "Thing.spec.a: a description is missing",
        ),
        ({"spec": {"$ref": "nowhere.yaml#/a"}}, "nothing is found at $ref nowhere.yaml#/a"),
        ({"spec": {"$ref": "#/definitions/gone"}}, "nothing is found at $ref thing.yaml#"),
        ({"spec": {"$ref": "#/properties/spec"}}, "thing.yaml#/properties/spec refers to itself"),
    ],
)
def test_an_unusable_source_is_an_error_that_names_the_place(
    tmp_path: Path, properties: Json, message: str
) -> None:
    """Somebody who edits the sources learns where the mistake is."""
    with pytest.raises(SchemaError, match=message.replace("$", r"\$").replace("[", r"\[")):
        _kind(tmp_path, properties)


def test_an_unusable_source_ends_the_command_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback for a mistake in the data."""
    root = _copy(tmp_path)
    (root / "crds" / "schema" / "broken.yaml").write_text("- a list\n")
    assert generate.main(["--root", str(root)]) == 2
    assert capsys.readouterr().err == "crds: broken.yaml: a mapping is expected\n"


def test_definitions_fit_where_they_are_stored() -> None:
    """An object above the limit could not be applied, a chart above it not be installed."""
    sizes = {
        path.name: len(json.dumps(yaml.safe_load(path.read_text()), separators=(",", ":")))
        for path in DEFINITIONS
    }
    assert sizes
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
    assert sum(sizes.values()) < LARGEST_SUM


def _undescribed(node: Any, path: str) -> list[str]:
    found = []
    if isinstance(node, dict):
        for key, value in node.get("properties", {}).items():
            if not value.get("description", "").strip().endswith("."):
                found.append(f"{path}.{key}")
            found += _undescribed(value, f"{path}.{key}")
        for key in ("items", "additionalProperties"):
            found += _undescribed(node.get(key), f"{path}[]")
    return found


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_every_field_is_described(path: Path) -> None:
    """`kubectl explain` answers for every field, in whole sentences."""
    schema = yaml.safe_load(path.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["metadata"]
    assert _undescribed(schema, "") == []


def test_conditions_are_documented_with_the_reasons_that_are_given() -> None:
    """The closed list that users script against is the one that the roles use."""
    (cluster,) = [kind for kind in Sources(SCHEMA).kinds() if kind.name == "MatrixOneCluster"]
    status = cluster.schema["properties"]["status"]["properties"]
    condition = status["conditions"]["items"]["properties"]
    words = set(re.findall(r"[A-Z][A-Za-z]+", condition["reason"]["description"]))
    types = {kind.value for kind in ConditionType}
    assert words - {"Reason"} - types == {reason.value for reason in Reason} - types
    assert set(re.findall(r"[A-Z][A-Za-z]+", condition["type"]["description"])) == types
    assert status["phase"]["enum"] == [phase.value for phase in Phase]


@pytest.mark.parametrize("kind", PLURALS)
def test_role_variables_are_specified(kind: str) -> None:
    """A role takes its resource whole, and the switches that go with it."""
    role = kind.lower()
    file = ROOT / "roles" / role / "meta" / "argument_specs.yml"
    options = yaml.safe_load(file.read_text())["argument_specs"]["main"]["options"]
    assert {name: option["type"] for name, option in options.items()} == {
        f"{role}_resource": "dict",
        f"{role}_state": "str",
        f"{role}_wait": "bool",
        f"{role}_wait_timeout": "int",
        f"{role}_manage_status": "bool",
    }
    assert options[f"{role}_state"]["choices"] == ["present", "absent"]
