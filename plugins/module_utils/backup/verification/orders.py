# SPDX-License-Identifier: Apache-2.0
"""The RestoreJobs that BackupJobs and BackupSchedules create to have a backup proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...api import names
from ...api.types import Manifest

Json = dict[str, Any]

_LONGEST: Final = 54
"""Characters of the name of a RestoreJob."""
_DIGITS: Final = 9
"""Of an id at the end of a Backup's name, with its dash."""
_SETTINGS: Final = (
    "ttl",
    "activeDeadlineSeconds",
    "parallelism",
    "serviceAccountName",
    "resources",
    "overlay",
)
"""What the Jobs of a verification have in common with that of the backup."""


def ordered_name(backup: str) -> str:
    """Return the name of the RestoreJob that a BackupJob creates: that of the Backup, if it fits.

    A long one is cut before the id at its end.
    """
    if len(backup) <= _LONGEST:
        return backup
    return f"{backup[: _LONGEST - _DIGITS].rstrip('-')}{backup[-_DIGITS:]}"


def verification_of(
    name: str,
    namespace: str,
    backup: str,
    verify: Mapping[str, Any],
    settings: Mapping[str, Any],
    labels: Mapping[str, str],
) -> Manifest:
    """Return a RestoreJob that proves a backup.

    Args:
        name: of the RestoreJob.
        namespace: of it, and of the cluster that was backed up.
        backup: name of the Backup.
        verify: as ``spec.verify`` of a RestoreJob.
        settings: spec of the BackupJob, or the template of the schedule.
        labels: of the RestoreJob.
    """
    kept = {key: settings[key] for key in _SETTINGS if settings.get(key) is not None}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.RESTORE_JOB,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {**kept, "backupName": backup, "verify": dict(verify)},
    }
