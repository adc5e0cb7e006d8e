# SPDX-License-Identifier: Apache-2.0
"""What a failed backup has left at its target, in its message and as a metric.

Nothing else deletes it: there is no Backup of it, and retention counts Backups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api.fields import Fields
from ...api.types import Resource
from ..task.plan import FAILED, RUNNING
from ..task.state import result_of
from ..task.tasks import REMOVED, Phase, Result, Step

Json = dict[str, Any]

METRIC: Final = "matrixone_backup_leftovers"
DESCRIPTION: Final = (
    "1 if a BackupJob has failed and what it has written may still be at its target, else 0."
)
_UNKNOWN: Final = Result(Phase.RUNNING, Step.COPY)
"""What has to be expected of a program whose result nobody can read any more."""
_MAY_BE_IN: Final = "what it has written may still be in "


def message_of(resource: Resource, result: Result | None) -> str:
    """Return what a failed backup has left, for messages; empty if nothing.

    Args:
        resource: the BackupJob.
        result: what its program has reported last; None if nothing.
    """
    step = result.step if result else None
    if step in (None, Step.CHECK_TARGET) or (result and result.message.endswith(REMOVED)):
        return ""
    target = Fields("", resource).table("spec").table("target")
    path = target.table("s3").text("path") or target.table("fileSystem").text("path")
    return f"{_MAY_BE_IN}{path}: delete that when nothing writes there"


def message_at_deletion(resource: Resource, result_map: Mapping[str, Any] | None) -> str:
    """Return what a backup has left whose BackupJob is deleted; empty if nothing.

    Args:
        resource: the BackupJob, with its status.
        result_map: the ConfigMap with the result, when the Pod is gone; None if it is gone, too, as
            in a deletion that the garbage collector begins with what a BackupJob owns.
    """
    if result_map is None and (resource.get("status") or {}).get("phase") == RUNNING:
        return message_of(resource, _UNKNOWN)
    return message_of(resource, result_of(result_map))


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
