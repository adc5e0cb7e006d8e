# SPDX-License-Identifier: Apache-2.0
"""What the image is made of: pinned, complete, and nothing else. It is run in tests/e2e."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from image import pinning
from image.__main__ import named
from image.building import ROOT, ImageError
from image.operator import sources
from image.pinning import requirements_of_core
from image.steps import sbom

STEPS = ROOT / "image" / "steps"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)


def pinned(name: str) -> dict[str, str]:
    return {match[1].lower(): match[2] for match in PIN.finditer((STEPS / name).read_text())}


CORES = [requirements_of_core(release).name for release in pinning.CORES]


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements-build.txt", "collections.txt", *CORES]
)
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


@pytest.mark.parametrize("release", list(pinning.CORES))
def test_a_variant_has_a_newer_ansible_core_and_is_named_by_it(release: str) -> None:
    """Everything else is what the image has; the build checks that they suit each other."""
    (name, version) = next(iter(pinned(requirements_of_core(release).name).items()))
    assert (name, version.rpartition(".")[0]) == ("ansible-core", release)

    assert named("registry.example.com/op:1", release) == (
        f"registry.example.com/op:1-ansible-core-{release}"
    )


def test_the_image_without_a_variant_keeps_its_name() -> None:
    assert named("op:1", "") == "op:1"
    with pytest.raises(ImageError, match=r"no image has ansible-core 2\.17; variants: 2\.19"):
        named("op:1", "2.17")


def python_step(tmp_path: Path, *arguments: str) -> list[str]:
    """The calls of pip that the step makes, in a copy of the steps with an environment of stubs."""
    steps = tmp_path / "steps"
    shutil.copytree(STEPS, steps)
    step = steps / "python.sh"
    step.write_text(step.read_text().replace("/opt/operator", str(tmp_path / "operator")))
    programs = stub(tmp_path / "operator" / "bin", "pip", "python")
    stub(tmp_path / "programs", "python3.12")
    environment = {"PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"}
    subprocess.run(
        ["/bin/sh", step, *arguments], env=environment, check=True, timeout=30, capture_output=True
    )
    return [
        line for line in (programs / "calls").read_text().splitlines() if line.startswith("pip ")
    ]


@pytest.mark.parametrize("release", ["", *pinning.CORES])
def test_a_variants_packages_replace_those_of_the_image(tmp_path: Path, release: str) -> None:
    """They are installed afterwards, by hash, and pip says whether all suit each other."""
    calls = python_step(tmp_path, release)
    found = [number for number, call in enumerate(calls) if "requirements-ansible-core" in call]

    assert len(found) == bool(release)
    for number in found:
        assert calls[number - 1].endswith("--requirement requirements.txt")
        assert "--require-hashes" in calls[number]
        assert calls[number].endswith(f"--requirement requirements-ansible-core-{release}.txt")
        assert calls[number + 1] == "pip check"


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

    assert set(stages) - names == {"${BASE_IMAGE}", "${INIT_IMAGE}"}
    assert "ARG INIT_IMAGE=${BASE_IMAGE}\n" in text
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


def stub(folder: Path, *programs: str) -> Path:
    """A folder with programs that only write down how they were called, ``rm`` always among them."""
    folder.mkdir(parents=True)
    for name in (*programs, "rm"):
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{folder}/calls"\n')
        path.chmod(0o755)
    for name in ("chmod", "sh"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def run_step(step: str, programs: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a step of the image where no programs but these exist."""
    return subprocess.run(
        ["/bin/sh", STEPS / step, *arguments],
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


UBI = "install -y --nodocs --setopt=install_weak_deps=0"
PACKAGES = [
    ("apt-get", "build", "-qq install -y --no-install-recommends python3-venv ca-certificates"),
    ("apt-get", "run", "-qq install -y --no-install-recommends python3 ca-certificates"),
    ("apt-get", "init", "-qq install -y --no-install-recommends tini"),
    ("dnf", "build", f"{UBI} python3.12 python3.12-pip ca-certificates"),
    ("dnf", "run", f"{UBI} python3.12 ca-certificates"),
    ("microdnf", "run", f"{UBI} python3.12 ca-certificates"),
]


@pytest.mark.parametrize(("manager", "purpose", "wanted"), PACKAGES)
def test_packages_come_from_the_manager_of_the_base(
    tmp_path: Path, manager: str, purpose: str, wanted: str
) -> None:
    """No Red Hat image can be had here: the package managers are stubs."""
    programs = stub(tmp_path / "programs", manager)
    done = run_step("packages.sh", programs, purpose)

    assert done.returncode == 0, done.stderr
    assert f"{manager} {wanted}" in (programs / "calls").read_text().splitlines()


def test_a_base_without_tini_or_a_package_manager_is_refused(tmp_path: Path) -> None:
    without_tini = run_step("packages.sh", stub(tmp_path / "ubi", "microdnf"), "init")
    assert (without_tini.returncode, "INIT_IMAGE" in without_tini.stderr) == (1, True)
    unknown = run_step("packages.sh", stub(tmp_path / "unknown"), "run")
    assert (unknown.returncode, "neither apt-get nor dnf" in unknown.stderr) == (1, True)


@pytest.mark.parametrize(("present", "missing"), [("dnf", "microdnf"), ("microdnf", "dnf")])
def test_both_names_of_the_package_manager_work(tmp_path: Path, present: str, missing: str) -> None:
    """The Dockerfiles of AWX and Galaxy call dnf and microdnf; an image has one of them."""
    programs = stub(tmp_path / "programs", present)
    assert run_step("package_managers.sh", programs, programs).returncode == 0

    assert run_step("package_managers.sh", programs, programs).returncode == 0  # nothing is missing
    subprocess.run([programs / missing, "update", "-y", "a b"], check=True, timeout=30)
    assert (programs / "calls").read_text() == f"{present} update -y a b\n"


def test_a_debian_base_gets_no_names_of_another_package_manager(tmp_path: Path) -> None:
    programs = stub(tmp_path / "programs", "apt-get")
    before = sorted(programs.iterdir())
    assert run_step("package_managers.sh", programs, programs).returncode == 0
    assert sorted(programs.iterdir()) == before


def test_packages_of_both_kinds_of_bases_are_listed() -> None:
    debian = "ii \ttini\t0.19.0-1\tamd64\nrc \tgone\t1\tall\n"
    red_hat = (
        "zlib\t1.2.11-40.el9\tx86_64\ngpg-pubkey\t5a6340b3\t(none)\nbash\t5.1.8-9.el9\tx86_64\n"
    )

    purls = [one["purl"] for one in (*sbom.debian_packages(debian), *sbom.rpm_packages(red_hat))]
    assert purls == [
        "pkg:deb/debian/tini@0.19.0-1?arch=amd64",
        "pkg:rpm/redhat/bash@5.1.8-9.el9?arch=x86_64",
        "pkg:rpm/redhat/zlib@1.2.11-40.el9?arch=x86_64",
    ]
