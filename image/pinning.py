# SPDX-License-Identifier: Apache-2.0
"""The Python packages of the image, pinned with their hashes."""

from pathlib import Path

from image.building import ROOT, run

STEPS = ROOT / "image" / "steps"
_PYTHON = "3.11"


def write(uv: Path) -> None:
    """Write the files of requirements; versions are those of dev/constraints.txt.

    Raises:
        ImageError: no solution, or no network.
    """
    common = [
        *("--quiet", "--generate-hashes", "--universal", "--no-header", "--no-annotate"),
        *("--python-version", _PYTHON),
    ]
    constrained = [
        "--extra",
        "sql",
        "--extra",
        "backup",
        "--constraint",
        str(ROOT / "dev" / "constraints.txt"),
    ]
    for source, options, target in (
        (ROOT / "pyproject.toml", constrained, "requirements.txt"),
        (STEPS / "requirements-build.in", [], "requirements-build.txt"),
        (STEPS / "collections.in", ["--no-deps"], "collections.txt"),
    ):
        run([uv, "pip", "compile", source, *common, *options, "--output-file", STEPS / target])
