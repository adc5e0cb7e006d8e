# SPDX-License-Identifier: Apache-2.0
"""Files of others that come as Go modules: definitions that charts and bundles are checked with."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GoModule:
    """A module at one version.

    Attributes:
        sum: of its files, as in go.sum.
    """

    path: str
    version: str
    sum: str


MONITORING = GoModule(
    "github.com/prometheus-operator/prometheus-operator",
    "v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)

OPERATOR_FRAMEWORK = GoModule(
    "github.com/operator-framework/api",
    "v0.31.0",
    "h1:tRsFTuZ51xD8U5QgiPo3+mZgVipHZVgRXYrI6RRXOh8=",
)


def module(wanted: GoModule) -> Path:
    """Return the folder with a module's files, in Go's cache."""
    result = subprocess.run(
        ["go", "mod", "download", "-json", f"{wanted.path}@{wanted.version}"],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert found["Sum"] == wanted.sum
    return Path(found["Dir"])
