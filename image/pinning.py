# SPDX-License-Identifier: Apache-2.0
"""The Python packages of the image, pinned with their hashes."""

import tempfile
from pathlib import Path

from image.building import ROOT, run

STEPS = ROOT / "image" / "steps"
_PYTHON = "3.11"
CORES = {"2.19": "3.11", "2.20": "3.12", "2.21": "3.12"}
"""Newer releases of ansible-core, which variants of the image have, and their oldest Python."""


def requirements_of_core(release: str) -> Path:
    """Return the file that pins the ansible-core of a variant of the image."""
    return STEPS / f"requirements-ansible-core-{release}.txt"


def write(uv: Path) -> None:
    """Write the files of requirements; versions are those of dev/constraints.txt.

    A variant's ansible-core is the newest of its release.

    Raises:
        ImageError: no solution, or no network.
    """
    constrained = [
        *("--extra", "sql", "--extra", "backup"),
        *("--constraint", str(ROOT / "dev" / "constraints.txt")),
    ]
    files: list[tuple[Path, list[str], str]] = [
        (ROOT / "pyproject.toml", constrained, "requirements.txt"),
        (STEPS / "requirements-build.in", [], "requirements-build.txt"),
        (STEPS / "collections.in", ["--no-deps"], "collections.txt"),
    ]
    for source, options, target in files:
        _compile(uv, source, _PYTHON, STEPS / target, options)
    for release, python in CORES.items():
        with tempfile.NamedTemporaryFile("w", suffix=".in") as wanted:
            wanted.write(f"ansible-core~={release}.0\n")
            wanted.flush()
            pins = requirements_of_core(release)
            _compile(uv, Path(wanted.name), python, pins, ["--no-deps", "--upgrade"])


def _compile(uv: Path, source: Path, python: str, target: Path, options: list[str]) -> None:
    """Write the pins of what a file asks for."""
    common = ["--quiet", "--generate-hashes", "--universal", "--no-header", "--no-annotate"]
    command: list[str | Path] = [uv, "pip", "compile", source, "--output-file", target]
    run([*command, *common, *options, "--python-version", python])
