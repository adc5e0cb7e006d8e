# SPDX-License-Identifier: Apache-2.0
"""The operator's image, and images of other projects on top of it, as archives for a test bed."""

from pathlib import Path

from image.building import ROOT, Build, archive
from testbed.progress import Progress, silent

IMAGE = "docker.io/matrixorigin/matrixone-ansible-operator:dev"
"""Name of the archive's image; only test beds know it."""


def sources() -> list[Path]:
    """The sources of the image: the Dockerfile, and the files that .dockerignore includes."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [ROOT / "Dockerfile", *(ROOT / line[1:] for line in lines if line.startswith("!"))]


def operator_archive(progress: Progress = silent) -> Path:
    """Return the operator's image, built if need be.

    Raises:
        TestBedError: it could not be built.
    """
    return archive(Build(IMAGE), sources(), progress)


def project_archive(project: Path, image: str, progress: Progress = silent) -> Path:
    """Return the image of another Ansible operator, whose Dockerfile takes ours as ``BASE``.

    Raises:
        TestBedError: it could not be built.
    """
    parents = {IMAGE: operator_archive(progress)}
    wanted = Build(image, context=project, arguments={"BASE": IMAGE}, parents=parents)
    return archive(wanted, [project, *sources()], progress)
