# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell whether a pass over a resource would change nothing and wait for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.reporting.conditions import holds_now
from ...module_utils.reporting.reasons import ConditionType
from ...module_utils.workload.plans import is_paused
from .shared import begins
from .snapshot import Snapshot
from .steps import STEPS


def is_up_to_date(session: Session, resource: Mapping[str, Any], start_script: str) -> bool:
    """Tell whether no step of a pass is needed; when one is in doubt, it is.

    Args:
        session: connection to the API server.
        resource: as it is in the cluster, with its status.
        start_script: text of its start script.
    """
    snapshot = Snapshot(session, dict(resource), start_script)
    if not _may_be_up_to_date(snapshot):
        return False
    return not any(step.is_needed(snapshot) for step in STEPS[resource["kind"]])


def _may_be_up_to_date(snapshot: Snapshot) -> bool:
    """Tell whether the last pass found everything in order; otherwise nothing is requested."""
    resource = snapshot.resource
    reported = (ConditionType.READY, ConditionType.SYNCED)
    return (
        not begins(snapshot)
        and not resource["metadata"].get("deletionTimestamp")
        and not is_paused(resource)
        and all(holds_now(resource, condition) for condition in reported)
    )
