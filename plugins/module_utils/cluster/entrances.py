# SPDX-License-Identifier: Apache-2.0
"""Where a cluster answers SQL, and whether it can be expected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..api import names
from ..api.types import Manifest, Resource
from ..reporting.conditions import holds
from ..reporting.reasons import ConditionType


def entrance(children: Sequence[Manifest]) -> str:
    """Return the Service behind which SQL is answered: the proxy's, else the first CN group's."""
    for kind in (names.PROXY_SET, names.CN_SET):
        for child in children:
            if child["kind"] == kind:
                return names.base_name(kind, child["metadata"]["name"])
    return ""


def answers(resource: Resource, observed: Mapping[str, Any]) -> bool:
    """Return whether SQL can be expected to be answered.

    A playbook brings the components up first, and asks then.
    """
    if not resource["metadata"].get("uid"):
        return True
    groups = any(holds(one, ConditionType.READY) for one in observed.get("cnSets") or [])
    without_proxy = (resource.get("spec") or {}).get("proxy") is None
    return groups and (without_proxy or holds(observed.get("proxySet"), ConditionType.READY))
