# SPDX-License-Identifier: Apache-2.0
"""Where a cluster answers SQL, and whether it can be expected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..api import names
from ..api.types import Manifest, Resource
from ..reporting.conditions import holds, serves_now
from ..reporting.reasons import ConditionType
from .canary import is_canary
from .conditions import READY_RULES, count


def entrance_part(children: Sequence[Manifest]) -> Manifest | None:
    """Return which component takes connections: the proxies, else the first CN group, if any."""
    for kind in (names.PROXY_SET, names.CN_SET):
        for child in children:
            if child["kind"] == kind:
                return child
    return None


def entrance(children: Sequence[Manifest]) -> str:
    """Return the Service behind which SQL is answered; empty if no component takes connections."""
    part = entrance_part(children)
    return "" if part is None else names.base_name(part["kind"], part["metadata"]["name"])


def answers(resource: Resource, observed: Mapping[str, Any]) -> bool:
    """Return whether SQL can be expected to be answered.

    A playbook brings the components up first, and asks then.
    """
    if not resource["metadata"].get("uid"):
        return True
    groups = any(holds(one, ConditionType.READY) for one in observed.get("cnSets") or [])
    without_proxy = (resource.get("spec") or {}).get("proxy") is None
    return groups and (without_proxy or holds(observed.get("proxySet"), ConditionType.READY))


def service_to_confirm(resource: Resource, children: Sequence[Manifest]) -> str:
    """Return the Service behind which SQL must be answered before a cluster is Ready.

    It is empty while the cluster is Ready, so that an idle one is not asked, while a component does
    not serve, and where so much is stopped that nobody can log in.
    """
    kinds = [kind for kind, _reason in READY_RULES]
    parts = [one for one in children if one["kind"] in kinds and not is_canary(one)]
    if holds(resource, ConditionType.READY):
        return ""
    if not all(map(serves_now, parts)):
        return ""
    running = [one for one in parts if count(one)[0]]
    stopped = {one["kind"] for one in parts} - {one["kind"] for one in running}
    return "" if stopped else entrance(running)
