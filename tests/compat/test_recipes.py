# SPDX-License-Identifier: Apache-2.0
"""Which object is created for a project."""

from pathlib import Path

import pytest

from compat.recipes import RECIPES, ProjectError, definitions, recipe_for


def project(folder: Path, watches: str) -> Path:
    (folder / "watches.yaml").write_text(watches)
    return folder


@pytest.mark.parametrize("group", RECIPES)
def test_the_group_of_a_kind_chooses_the_recipe(tmp_path: Path, group: str) -> None:
    found = recipe_for(project(tmp_path, f"- {{group: {group}, version: v1, kind: X}}"), [])
    assert found is RECIPES[group]
    assert found.obj["apiVersion"].startswith(f"{group}/")


def test_a_given_object_wins_and_keeps_environment_and_answers(tmp_path: Path) -> None:
    manifest = tmp_path / "mine.yaml"
    manifest.write_text("{apiVersion: eda.ansible.com/v1alpha1, kind: EDA, metadata: {name: mine}}")
    found = recipe_for(project(tmp_path, "- {group: eda.ansible.com}"), [manifest])
    assert found.obj["metadata"]["name"] == "mine"
    known = RECIPES["eda.ansible.com"]
    assert (found.variables, found.answers) == (known.variables, known.answers)


@pytest.mark.parametrize(
    ("watches", "message"),
    [("- {group: nobody.example.com}", "--object"), ("[]", "no entries"), ("{", "cannot be read")],
)
def test_what_is_no_project_is_refused(tmp_path: Path, watches: str, message: str) -> None:
    with pytest.raises(ProjectError, match=message):
        recipe_for(project(tmp_path, watches), [])


def test_a_project_without_definitions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config" / "crd").mkdir(parents=True)
    (tmp_path / "config" / "crd" / "kustomization.yaml").write_text("kind: Kustomization\n")
    with pytest.raises(ProjectError, match="config/crd"):
        definitions(tmp_path)
