# SPDX-License-Identifier: Apache-2.0
"""The README is right where it is read: in the sources, on Galaxy, in the installed collection."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.docs.test_pages import LINK
from tests.support.examples import RELEASE
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted(
    path
    for pattern in ("*.yaml", "standalone/*.yaml", "early/*.yaml")
    for path in (ROOT / "examples").glob(pattern)
    if path.name != "own-command.yaml"  # is about versions below 1.0
)


def test_it_has_no_link_that_only_the_sources_resolve() -> None:
    """Galaxy and the installed collection show it without docs/, charts/ and the like."""
    assert LINK.findall(README) == []


@pytest.mark.parametrize(
    "heading",
    [
        *("Requirements", "Installation", "Use it", "Documentation", "Testing"),
        *("Contributing", "Support", "Release notes", "License"),
    ],
)
def test_it_has_the_sections_that_users_of_galaxy_look_for(heading: str) -> None:
    assert re.search(rf"^## {heading}$", README, flags=re.MULTILINE)


def test_its_example_is_rendered_in_an_empty_folder(tmp_path: Path) -> None:
    """With nothing but the installed collection; dev/release.sh does it with the artifact."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "cluster.yaml").write_text(block)
    (command,) = re.findall(r"^\$ (ansible-playbook .*\.render .*)$", README, flags=re.MULTILINE)
    done = subprocess.run(
        [*command.split(), "-e", "output=manifests.yaml"],
        cwd=tmp_path, env={**os.environ, "PWD": str(tmp_path)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    manifests = yaml.safe_load_all((tmp_path / "manifests.yaml").read_text())
    assert {"StatefulSet", "Deployment"} <= {one["kind"] for one in manifests}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_name_one_version_of_matrixone(path: Path) -> None:
    """The one that the tests run; docs/versions.md names it."""
    text = path.read_text()
    versions = re.findall(r"^ *version: \"?v?(\d+\.\d+\.\d+)\"?$", text, flags=re.MULTILINE)
    versions += re.findall(r"matrixorigin/matrixone:(\d+\.\d+\.\d+)", text)
    assert set(versions) <= {RELEASE}
    assert f"**{RELEASE}**" in (ROOT / "docs" / "versions.md").read_text()
