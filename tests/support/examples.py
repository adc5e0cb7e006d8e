# SPDX-License-Identifier: Apache-2.0
"""Examples and pages as a real node can run them: with the MatrixOne that the test bed has.

Users pull the release that examples name; a test bed has no registry.
"""

from typing import Any

import yaml

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
