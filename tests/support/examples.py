# SPDX-License-Identifier: Apache-2.0
"""Examples and pages as a real node can run them: with the MatrixOne that the test bed has.

Users pull the release that examples name; a test bed has no registry.
"""

from dataclasses import replace
from typing import Any

import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.versions import parse

from testbed import database
from tests.support.places import ROOT

RELEASE = "3.0.18"
"""The release of MatrixOne that all examples and pages name."""


def on_a_real_node(text: str) -> str:
    """Replace that release in a text."""
    return text.replace(RELEASE, database.chosen().tag)


def example(name: str) -> dict[str, Any]:
    """Return a resource of ``examples/``, for a real node."""
    resource: dict[str, Any] = yaml.safe_load(
        on_a_real_node((ROOT / "examples" / name).read_text())
    )
    return resource


def later(patches: int) -> str:
    """Return the version that is so many patch releases after that of the test bed."""
    version = parse(database.chosen().tag)
    assert version, "the tag has to be a version"
    return str(replace(version, patch=version.patch + patches, suffix=""))


def reaches(major: int, minor: int, patch: int) -> bool:
    """Return whether the MatrixOne of the test bed is of this version or a later one."""
    version = parse(database.chosen().tag)
    assert version, "the tag has to be a version"
    return version.numbers >= (major, minor, patch)
