# SPDX-License-Identifier: Apache-2.0
"""What holds back changes of compute nodes besides the resources that they depend on."""

from __future__ import annotations

from ..api.types import Resource
from ..reporting.conditions import has_served
from ..reporting.pods import is_beginning
from ..reporting.rollout import UPDATE_PAUSED
from ..workload.observed import SetObserved


def hold(resource: Resource, observed: SetObserved) -> str:
    """Return what changes of compute nodes that exist wait for; empty if nothing.

    The first compute node creates the system tables. When it ends in the middle of that, MatrixOne
    1.3 cannot go on: each later one waits for what is never created.
    """
    if observed.workload is None:
        return ""
    if (resource.get("spec") or {}).get("pauseUpdate"):
        return UPDATE_PAUSED
    if has_served(resource):
        return ""
    begun = [pod for pod in observed.pods if is_beginning(pod, observed.now)]
    if not begun:
        return ""
    return f"waiting for {begun[0]['metadata']['name']} to finish the bootstrap of the database"
