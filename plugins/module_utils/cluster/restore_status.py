# SPDX-License-Identifier: Apache-2.0
"""What is reported of the restore of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import names
from ..reporting.events import Occurrence, occurrence
from ..reporting.reasons import Reason
from .restoring import COMPLETED, FAILED


def awaited(cluster: str, record: Mapping[str, Any]) -> tuple[Reason, str]:
    """Return the reason for which a cluster has no components yet, and a message.

    Args:
        cluster: its name.
        record: ``status.restore``.
    """
    job, source = f"RestoreJob {names.restore_name(cluster)}", record.get("from")
    reported = record.get("message")
    if record.get("phase") == FAILED:
        return Reason.RESTORE_FAILED, (
            f"{job} failed: {reported or 'see its status'}; to try again, correct the cause and "
            f"delete it, or else delete the cluster"
        )
    if record.get("phase") == COMPLETED:
        return Reason.RESTORING, f"restored from {source}; the components are created next"
    return Reason.RESTORING, f"waiting for {job}: {reported or f'restoring {source}'}"


def occurrences(restoring: bool, record: Mapping[str, Any], failure: str) -> list[Occurrence]:
    """Return an event in the pass that records a completed restore.

    Args:
        restoring: whether components wait for the restore in this pass.
        record: ``status.restore``.
        failure: why the pass failed; empty if it did not.
    """
    if not restoring or failure or record.get("phase") != COMPLETED:
        return []
    moment = f", with the data of {record['atTime']}" if record.get("atTime") else ""
    note = f"restored backup {record.get('id') or record.get('from')}{moment}"
    return [occurrence("Restored", note, action="Restore")]
