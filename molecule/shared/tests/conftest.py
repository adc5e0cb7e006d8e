# SPDX-License-Identifier: Apache-2.0
"""How the checks of all scenarios look at the cluster."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture
def kubectl(host):
    """Return a function that runs kubectl in the scenario's namespace and returns its output."""
    config = os.environ["K8S_AUTH_KUBECONFIG"]
    own = Path(config).parent / "kubectl"
    program = own if own.exists() else "kubectl"

    def run(*arguments):
        done = host.run(" ".join([f"{program} --kubeconfig={config} -n molecule", *arguments]))
        assert done.rc == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def get(kubectl):
    """Return a function that reads objects with kubectl."""
    return lambda *arguments: json.loads(kubectl("get", *arguments, "-o", "json"))
