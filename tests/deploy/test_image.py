# SPDX-License-Identifier: Apache-2.0
"""What the image is made of: pinned, complete, and nothing else. It is run in tests/e2e."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from image.building import ROOT
from image.operator import sources

STEPS = ROOT / "image" / "steps"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def pinned(name: str) -> dict[str, str]:
    return {match[1].lower(): match[2] for match in PIN.finditer((STEPS / name).read_text())}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt", "collections.txt"])
def test_every_package_has_hashes(name: str) -> None:
    """pip refuses whatever is not the file that was chosen."""
    text = (STEPS / name).read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if PIN.match(entry)]

    assert len(entries) == len(pinned(name)) > 0
    assert all("--hash=sha256:" in entry for entry in entries)


def test_image_has_what_the_tests_ran_with() -> None:
    """Versions are those of the development environment, for every dependency of the runner."""
    constraints = dict(PIN.findall((ROOT / "dev" / "constraints.txt").read_text()))
    known = {name.lower(): version for name, version in constraints.items()}
    inside = pinned("requirements.txt")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["sql"]

    assert {re.split(r"[<>=]", name)[0].lower() for name in needed} <= set(inside)
    assert {name: version for name, version in inside.items() if known.get(name) != version} == {}


def test_what_goes_in_exists() -> None:
    """.dockerignore names files and folders that are there, and lets all else out."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()

    assert [path for path in sources() if not path.exists()] == []
    assert lines[1] == "*"


def test_every_stage_begins_with_the_one_base() -> None:
    """One argument changes the base of all stages; the last stage runs as nobody special."""
    text = (ROOT / "Dockerfile").read_text()
    stages = dict(re.findall(r"^FROM (\S+) AS (\w+)$", text, re.MULTILINE))
    names = set(re.findall(r" AS (\w+)$", text, re.MULTILINE))

    assert set(stages) - names == {"${BASE_IMAGE}"}
    assert re.findall(r"^USER (\S+)$", text, re.MULTILINE) == ["1001"]


def test_programs_are_where_projects_name_them(tmp_path: Path) -> None:
    """A module that names ``/usr/local/bin/python3`` gets the interpreter with our packages."""
    environment = Path(sys.executable).parent
    subprocess.run([STEPS / "programs.sh", environment, tmp_path], check=True, timeout=30)
    script = tmp_path / "module"
    script.write_text(
        f"#!{tmp_path}/python3\nimport ansible, kubernetes, sys\nprint(sys.argv[1])\n"
    )
    script.chmod(0o755)

    done = subprocess.run(
        [script, "a b"], check=True, timeout=30, capture_output=True, text=True, env={}
    )
    assert done.stdout == "a b\n"
    assert {"python3", "ansible-playbook", "ansible-galaxy"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert "steps/programs.sh /opt/operator/bin /usr/local/bin" in (STEPS / "runner.sh").read_text()
