# SPDX-License-Identifier: Apache-2.0
"""The SQL user that may read the metrics tables (core.md §10.3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..rendering import names
from ..rendering.types import Manifest, Resource
from ..status.conditions import holds
from ..status.reasons import ConditionType
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
        password: made at random by the caller.
    """
    pairs = {"username": USER, "account": "sys", "role": ROLE, "password": password}
    return login_secret(resource, secret_name(resource["metadata"]["name"]), pairs, {})


def statements(password: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the SQL that makes the user, or gives it another password."""
    return [
        (f"create user if not exists {USER} identified by %s", (password,)),
        (f"alter user {USER} identified by %s", (password,)),
        (f"create role if not exists {ROLE}", ()),
        (f"grant connect on account * to {ROLE}", ()),
        (f"grant select on table system_metrics.* to {ROLE}", ()),
        (f"grant {ROLE} to {USER}", ()),
    ]


def entrance(children: list[Manifest]) -> str:
    """Return the Service behind which SQL is answered: the proxy's, else the first CN group's."""
    for kind in (names.PROXY_SET, names.CN_SET):
        for child in children:
            if child["kind"] == kind:
                return names.base_name(kind, child["metadata"]["name"])
    return ""


def is_due(resource: Resource, observed: Mapping[str, Any]) -> bool:
    """Tell whether a user is asked for, and SQL can be expected to answer.

    A playbook brings the components up first, and asks then.
    """
    spec = resource.get("spec") or {}
    if not spec.get("metricReaderEnabled"):
        return False
    if not resource["metadata"].get("uid"):
        return True
    groups = any(holds(one, ConditionType.READY) for one in observed.get("cnSets") or [])
    proxy = spec.get("proxy") is None or holds(observed.get("proxySet"), ConditionType.READY)
    return groups and proxy
