# SPDX-License-Identifier: Apache-2.0
"""In which namespace the operator's Pods run, whose process plays this."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "POD_NAMESPACE"
"""The environment variable that the manifests of the operator set, by the downward API."""
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def own_namespace(environment: Mapping[str, str], account: Path = _ACCOUNT) -> str:
    """Return the namespace of the Pod that this process runs in; empty outside of a Pod.

    In the order of client-go's own: the environment, then what comes with the ServiceAccount, for
    a Deployment that was written before the variable.

    Args:
        environment: of the process.
        account: file with the namespace of the ServiceAccount.
    """
    named = environment.get(VARIABLE, "").strip()
    if named:
        return named
    try:
        return account.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
