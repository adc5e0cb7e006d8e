# SPDX-License-Identifier: Apache-2.0
"""What is reported of the upgrade of a cluster."""

from __future__ import annotations

from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import Reason
from ..upgrade.record import (
    CANARY_ANSWERING,
    CANARY_PASSED,
    CANARY_WAITING,
    CANCELED,
    COMPLETED,
    HELD,
    PASSED,
    UNFINISHED,
    UPDATING,
    Record,
    way_back,
)


def held(record: Record) -> tuple[Reason, str] | None:
    """Return reason and message while an upgrade is held back or paused; None if it is not."""
    if record.get("paused"):
        return Reason.UPGRADE_PAUSED, str(record.get("message"))
    if record.get("phase") != HELD:
        return None
    return Reason.UPGRADE_HELD, str(record.get("message"))


def awaited(record: Record) -> tuple[Reason, str] | None:
    """Return reason and message while components or the catalog are upgraded; None otherwise.

    A component that is left alone meanwhile is as its own spec asks for.
    """
    if record.get("phase") not in UNFINISHED:
        return None
    is_past = record.get("pointOfNoReturn") == PASSED
    reason = Reason.UPGRADING_CATALOG if is_past else Reason.ROLLING_OUT
    return reason, str(record.get("message"))


def stuck(record: Record, is_stuck: bool) -> tuple[Reason, str] | None:
    """Return reason and message where canary or catalog do not get on; None otherwise."""
    if not is_stuck:
        return None
    waits = record.get("canary") in {CANARY_WAITING, CANARY_ANSWERING}
    reason = Reason.CANARY_FAILED if waits else Reason.CATALOG_UPGRADE_STUCK
    return reason, str(record.get("message"))


def occurrences(before: Record, record: Record) -> list[Occurrence]:
    """Return the events of a pass that moves an upgrade on; that it is held, a condition says.

    Args:
        before: ``status.upgrade`` so far.
        record: as it is to be.
    """
    found: list[Occurrence] = []
    phase, path = record.get("phase"), f"from {record.get('from')} to {record.get('to')}"
    is_new = (before.get("to"), before.get("phase")) != (record.get("to"), phase)
    if phase == UPDATING and record.get("pointOfNoReturn") != PASSED and is_new:
        found.append(occurrence("UpgradeStarted", str(record.get("message")), action="Upgrade"))
    if record.get("pointOfNoReturn") == PASSED != before.get("pointOfNoReturn"):
        note = f"past the point of no return {path}; {way_back(record)}"
        found.append(occurrence("PointOfNoReturnPassed", note, action="Upgrade"))
    if record.get("canary") == CANARY_PASSED != before.get("canary"):
        note = f"{path}: one compute node of the new version answers, all others follow"
        found.append(occurrence("CanaryPassed", note, action="Upgrade"))
    if phase in {COMPLETED, CANCELED} and before.get("phase") != phase:
        reason = "UpgradeCompleted" if phase == COMPLETED else "UpgradeCanceled"
        found.append(occurrence(reason, f"{path}: {record.get('message')}", action="Upgrade"))
    return found
