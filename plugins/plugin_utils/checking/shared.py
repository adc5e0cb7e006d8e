# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that several kinds share."""

from __future__ import annotations

from ...module_utils.kinds import SETS
from ...module_utils.reporting.rollout import partition_of
from ...module_utils.workload.roll import is_rolling
from .snapshot import Snapshot, Step


def begins(snapshot: Snapshot) -> bool:
    """Tell whether the spec is newer than the last pass."""
    resource = snapshot.resource
    seen = (resource.get("status") or {}).get("observedGeneration")
    return bool(seen != resource["metadata"].get("generation"))


def _grows(snapshot: Snapshot) -> bool:
    growth = SETS[snapshot.resource["kind"]].growth(snapshot.resource, snapshot.observed)
    return bool(growth.claims or growth.templates)


def rolls(snapshot: Snapshot) -> bool:
    """Tell whether Pods of a StatefulSet are to be replaced."""
    partition = partition_of(snapshot.resource)
    return is_rolling(snapshot.workload, snapshot.pods, partition)


def _applies(snapshot: Snapshot) -> bool:
    return bool(snapshot.plan.records) or snapshot.applies()


def reports(snapshot: Snapshot) -> bool:
    """Tell whether there is anything to report, or to wait for: Pods that terminate, too."""
    plan = snapshot.plan
    if plan.paused or plan.invalid or plan.waiting_for or plan.held:
        return True
    if any(pod["metadata"].get("deletionTimestamp") for pod in snapshot.pods):
        return True
    return snapshot.reports()


BEGIN = Step("Report that work on a new spec begins", begins)
GROW = Step("Grow volumes", _grows)
APPLY = Step("Decide what should exist, record that and apply it", _applies)
REPORT = Step("Write the status", reports)
