# SPDX-License-Identifier: Apache-2.0
"""The SQL user that may read the metrics tables."""

from __future__ import annotations

from typing import Final

from ..api.types import Manifest, Resource
from .credentials import login_secret

USER: Final = "mo_operator"
ROLE: Final = "metric_reader"


def secret_name(cluster: str) -> str:
    """Return the name of the Secret with the user's credential."""
    return f"{cluster}-metric"


def secret(resource: Resource, password: str) -> Manifest:
    """Return the Secret of a cluster's metric user.

    Args:
        resource: the MatrixOneCluster.
        password: created at random by the caller.
    """
    pairs = {"username": USER, "account": "sys", "role": ROLE, "password": password}
    return login_secret(resource, secret_name(resource["metadata"]["name"]), pairs, {})


def statements(password: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the SQL that creates the user, as it is if it exists."""
    return [
        (f"create user if not exists {USER} identified by %s", (password,)),
        (f"create role if not exists {ROLE}", ()),
        (f"grant connect on account * to {ROLE}", ()),
        (f"grant select on table system_metrics.* to {ROLE}", ()),
        (f"grant {ROLE} to {USER}", ()),
    ]


def change(password: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL that gives the user another password.

    With ``password_history``, MatrixOne refuses the one that it has.
    """
    return (f"alter user {USER} identified by %s", (password,))
