# SPDX-License-Identifier: Apache-2.0
"""What a failed backup has left at its target, in its message and as a metric.

Nothing else deletes it: there is no Backup of it, and retention counts Backups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api.fields import Fields
from ..api.types import Resource
from .job_plan import FAILED
from .standing import Standing
from .tasks import REMOVED, Step

Json = dict[str, Any]

METRIC: Final = "matrixone_backup_leftovers"
DESCRIPTION: Final = (
    "1 if a BackupJob has failed and what it has written may still be at its target, else 0."
)
_MAY_BE_IN: Final = "what it has written may still be in "


def message_of(resource: Resource, stands: Standing) -> str:
    """Return what a failed backup has left, for messages; empty if nothing."""
    result = stands.result
    step = result.step if result else None
    if step in (None, Step.CHECK_TARGET) or (result and result.message.endswith(REMOVED)):
        return ""
    target = Fields("", resource).table("spec").table("target")
    path = target.table("s3").text("path") or target.table("fileSystem").text("path")
    return f"{_MAY_BE_IN}{path}: delete that when nothing writes there"


def metrics_of(resource: Resource, status: Mapping[str, Any] | None) -> list[Json]:
    """Return the request to the metrics API that shows whether something is left.

    Args:
        resource: the BackupJob.
        status: as written; None takes the metric away.
    """
    metadata = resource["metadata"]
    is_left = status is not None and status.get("phase") == FAILED
    is_left = is_left and _MAY_BE_IN in str((status or {}).get("message") or "")
    return [
        {
            "name": METRIC,
            "description": DESCRIPTION,
            "labels": {
                "backup_job_namespace": metadata["namespace"],
                "backup_job": metadata["name"],
            },
            "gauge": {"remove": True} if status is None else {"set": float(is_left)},
        }
    ]
