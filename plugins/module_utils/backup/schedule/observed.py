# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupSchedule observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...api.types import Manifest
from ...reporting.conditions import find
from ...reporting.reasons import STOPPED_ON_PURPOSE, ConditionType
from ...workload.plans import Observed
from ..users import Everything


@dataclass(frozen=True, slots=True)
class ScheduleObserved:
    """What is known of a BackupSchedule when a pass decides or reports.

    Attributes:
        jobs: its BackupJobs.
        backups: its Backups; None where they may not be read.
        restore_jobs: its RestoreJobs, which verify.
        everything: all that may need its Backups; None where some of that could not be listed.
        source_sleeps: whether its database answers nobody because somebody wants it so: nothing is
            written there, and no backup can be made.
    """

    jobs: Sequence[Manifest] = ()
    backups: Sequence[Manifest] | None = None
    restore_jobs: Sequence[Manifest] = ()
    everything: Everything | None = None
    source_sleeps: bool = False

    @classmethod
    def read(cls, observed: Observed) -> ScheduleObserved:
        """Read what ``observe`` returned by label."""
        return cls(
            jobs=observed.get("jobs") or (),
            backups=observed.get("backups"),
            restore_jobs=observed.get("restoreJobs") or (),
            everything=Everything.of(observed),
            source_sleeps=find(observed.get("source"), ConditionType.READY).get("reason")
            in STOPPED_ON_PURPOSE,
        )
