# SPDX-License-Identifier: Apache-2.0
"""Programs of the machine that tests run."""

import os
import shutil

import pytest


def installed(program: str) -> str:
    """Return the path of a program; without it the test is skipped, in the gate it fails."""
    found = shutil.which(program)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{program} is not installed")
    return str(found)
