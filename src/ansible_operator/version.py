# SPDX-License-Identifier: Apache-2.0
"""Which build this is."""

import os
import platform

from ansible_operator import __version__

VERSION = f"v{__version__}"
COMMIT = os.environ.get("ANSIBLE_OPERATOR_COMMIT", "unknown")
"""Set in images; a checkout does not know."""
KUBERNETES_VERSION = "v1.36"
"""The newest Kubernetes that the runner is tested with."""


def version_line() -> str:
    """What ``ansible-operator version`` prints."""
    return (
        f'ansible-operator version: "{VERSION}", commit: "{COMMIT}", '
        f'kubernetes version: "{KUBERNETES_VERSION}", go version: "{runtime()}", '
        f'GOOS: "{platform.system().lower()}", GOARCH: "{platform.machine()}"'
    )


def runtime() -> str:
    """The interpreter, where the Go runner names its Go version."""
    return f"python{platform.python_version()}"
