# SPDX-License-Identifier: Apache-2.0
"""What is asked of an operator: an object, as its users write it, and its environment."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
_DEFINITION = re.compile(r"^kind: CustomResourceDefinition$", re.MULTILINE)


class ProjectError(Exception):
    """A folder is no project of an operator, or there is nothing to ask of it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is asked of an operator.

    Attributes:
        obj: the object that is created.
        variables: of the operator's environment, as in its image or Deployment.
        answers: what commands in containers say, by a regular expression that the command matches;
            the others succeed and say nothing.
        pages: what Services say by HTTP, as JSON, by a regular expression that the URL matches.
        collections: folder with ``ansible_collections``; None for the archives in ``vendor``.
    """

    obj: Json
    variables: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, Any] = field(default_factory=dict)
    collections: Path | None = None


def _object(api_version: str, kind: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "sample"}, "spec": spec}


_PULP_STATUS: Json = {
    "versions": [{"component": name, "version": "3.49.0"} for name in ("core", "galaxy")],
    "online_workers": [{"name": "1@sample-worker"}],
    "online_content_apps": [{"name": "1@sample-content"}],
    "database_connection": {"connected": True},
    "redis_connection": {"connected": True},
}
"""What the API of Galaxy says about itself once it serves."""

RECIPES: Mapping[str, Recipe] = {
    "eda.ansible.com": Recipe(
        _object(
            "eda.ansible.com/v1alpha1",
            "EDA",
            {"no_log": False, "automation_server_url": "https://awx.example.com"},
        ),
        {"DEFAULT_EDA_VERSION": "main", "DEFAULT_EDA_UI_VERSION": "latest"},
        {r"get_distribution\(": "1.0.0"},
    ),
    "galaxy.ansible.com": Recipe(
        _object("galaxy.ansible.com/v1beta1", "Galaxy", {"no_log": False}),
        {"DEFAULT_GALAXY_VERSION": "latest", "DEFAULT_GALAXY_UI_VERSION": "latest"},
        pages={r"/pulp/api/v3/status/$": _PULP_STATUS},
    ),
    "awx.ansible.com": Recipe(
        _object("awx.ansible.com/v1beta1", "AWX", {"no_log": False}),
        {"DEFAULT_AWX_VERSION": "24.6.1", "OPERATOR_VERSION": "dev"},
        {"awx-manage --version": "24.6.1", "awx-manage showmigrations": "0"},
    ),
}
"""By the API group of the operator's kinds."""


def watched_groups(project: Path) -> list[str]:
    """Return the API groups in the watches file of a project.

    Raises:
        ProjectError: there is no such file, or it has no entries.
    """
    try:
        entries = yaml.safe_load((project / "watches.yaml").read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ProjectError(f"{project}: watches.yaml cannot be read: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise ProjectError(f"{project}: watches.yaml has no entries")
    return [str(entry.get("group", "")) for entry in entries]


def recipe_for(project: Path, objects: Sequence[Path]) -> Recipe:
    """Return what is asked of a project: the given object, or the recipe of its API group.

    Raises:
        ProjectError: the folder is no project, or there is neither an object nor a recipe.
    """
    known = [RECIPES[group] for group in watched_groups(project) if group in RECIPES]
    if objects:
        given = yaml.safe_load(objects[0].read_text())
        return replace(known[0], obj=given) if known else Recipe(given)
    if not known:
        raise ProjectError(f"{project}: no recipe for its kinds; name an object with --object")
    return known[0]


def definitions(project: Path) -> list[Path]:
    """Return the files with the CRDs of a project, where operator-sdk's scaffold has them.

    Raises:
        ProjectError: there are none.
    """
    files = sorted((project / "config" / "crd").rglob("*.yaml"))
    found = [path for path in files if _DEFINITION.search(path.read_text())]
    if not found:
        raise ProjectError(f"{project}: no CRDs in config/crd")
    return found
