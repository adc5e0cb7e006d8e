# SPDX-License-Identifier: Apache-2.0
"""What Galaxy and the Ansible community require of a collection, as far as files show it.

The community's list is "Ansible community package collections requirements" in the documentation of
Ansible; dev/release.sh runs Galaxy's importer, and dev/sanity.sh the sanity tests.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.places import ROOT

GALAXY = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
PLUGINS = sorted(
    path
    for path in (ROOT / "plugins").rglob("*.py")
    if path.relative_to(ROOT / "plugins").parts[0] != "module_utils"
)
MODULES = sorted((ROOT / "plugins" / "modules").glob("*.py"))
CODE_OF_CONDUCT = "https://docs.ansible.com/ansible/latest/community/code_of_conduct.html"


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "field",
    [
        *("authors", "description", "documentation", "homepage", "issues", "license", "readme"),
        *("repository", "tags"),
    ],
)
def test_galaxy_is_told_what_it_shows(field: str) -> None:
    assert GALAXY[field]


def test_dependencies_have_a_stable_lower_bound() -> None:
    for name, versions in GALAXY["dependencies"].items():
        assert re.search(r">=[1-9]\d*\.", versions), name


def test_the_artifact_has_the_texts_that_its_files_name() -> None:
    included = " ".join(GALAXY["manifest"]["directives"]).split()
    texts = {"README.md", "CHANGELOG.rst", "CODE_OF_CONDUCT.md", "COPYING", "LICENSE"}
    assert texts <= set(included)


def test_the_readme_says_which_ansible_is_required() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    oldest = re.fullmatch(r">=(\d+\.\d+)\.0", runtime["requires_ansible"])
    assert oldest
    assert f"ansible-core {oldest[1]} to " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "CODE_OF_CONDUCT.md"])
def test_the_code_of_conduct_is_that_of_the_community(page: str) -> None:
    assert f"]({CODE_OF_CONDUCT})" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PLUGINS, ids=relative)
def test_plugins_have_the_license_of_what_they_import(path: Path) -> None:
    """Ansible's own; module_utils import nothing of it."""
    head = path.read_text(encoding="utf-8").splitlines()[:2]
    assert head[-1:] == ["# SPDX-License-Identifier: GPL-3.0-or-later"]


def test_utilities_of_modules_import_nothing_of_ansible() -> None:
    importing = re.compile(r"^\s*(?:from|import) ansible\b", re.MULTILINE)
    found = (ROOT / "plugins" / "module_utils").rglob("*.py")
    assert [relative(one) for one in found if importing.search(one.read_text("utf-8"))] == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_modules_say_since_when_and_what_check_mode_does(path: Path) -> None:
    text = path.read_text(encoding="utf-8").split('DOCUMENTATION = r"""')[1].split('"""')[0]
    documentation: dict[str, Any] = yaml.safe_load(text)
    assert re.fullmatch(r"\d+\.\d+\.\d+", documentation["version_added"])
    attributes = documentation["attributes"]
    assert attributes["check_mode"]["support"] in {"full", "partial", "none"}
    if path.stem.endswith("_info"):
        assert attributes["check_mode"]["support"] == "full"
