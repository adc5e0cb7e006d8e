# SPDX-License-Identifier: Apache-2.0
"""Tell whether a pass over a resource would change nothing and wait for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.kubernetes.session import Session
from ..cluster.hibernation import is_near
from ..cluster.maintenance import is_due
from ..reporting.conditions import holds_now
from ..reporting.reasons import ConditionType
from ..workload.plans import is_paused
from .needs import NEEDS
from .snapshot import Snapshot


def is_up_to_date(session: Session, resource: Mapping[str, Any], start_script: str) -> bool:
    """Tell whether nothing of a pass is needed; when something is in doubt, it is.

    Args:
        session: connection to the API server.
        resource: as it is in the cluster, with its status.
        start_script: text of its start script.
    """
    if not _may_be_up_to_date(resource):
        return False
    snapshot = Snapshot(session, dict(resource), start_script)
    needs = (*NEEDS[resource["kind"]].values(), _applies, _reports)
    return not any(is_needed(snapshot) for is_needed in needs)


def _may_be_up_to_date(resource: Mapping[str, Any]) -> bool:
    """Tell whether the last pass found everything in order; otherwise nothing is requested."""
    seen = (resource.get("status") or {}).get("observedGeneration")
    reported = (ConditionType.READY, ConditionType.SYNCED)
    return (
        seen == resource["metadata"].get("generation")
        and not resource["metadata"].get("deletionTimestamp")
        and not is_paused(resource)
        and all(holds_now(resource, condition) for condition in reported)
    )


def _applies(snapshot: Snapshot) -> bool:
    return bool(snapshot.plan.records) or snapshot.applies()


def _reports(snapshot: Snapshot) -> bool:
    """Tell whether there is anything to report, or to wait for: Pods that terminate, too."""
    plan = snapshot.plan
    if plan.paused or plan.invalid or plan.waiting_for or plan.held:
        return True
    resource, now = snapshot.resource, snapshot.now
    if is_near(resource, now) or is_due(resource, now):
        return True
    if any(pod["metadata"].get("deletionTimestamp") for pod in snapshot.pods):
        return True
    return snapshot.reports()
