# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BackupJob observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...api.types import Resource
from ...workload.plans import Observed
from ..task.observed import TaskObserved, existing


@dataclass(frozen=True, slots=True)
class JobObserved:
    """What is known of a BackupJob when a pass decides.

    Attributes:
        task: the objects of its Job.
        source: the MatrixOneCluster or CNSet that it names; None if there is none.
        jobs: the BackupJobs of its namespace.
        cn_sets: the CNSets of its namespace.
        log_sets: the LogSets of its namespace.
        claims: the BucketClaims that can be read.
        backups: all Backups; None where they may not be read, or are not asked for.
        existing: labels of what exists, the Secrets that it names among it.
    """

    task: TaskObserved = field(default_factory=TaskObserved)
    source: Resource | None = None
    jobs: Sequence[Resource] = ()
    cn_sets: Sequence[Resource] = ()
    log_sets: Sequence[Resource] = ()
    claims: Sequence[Resource] = ()
    backups: Sequence[Resource] | None = None
    existing: frozenset[str] = frozenset()

    @classmethod
    def read(cls, observed: Observed) -> JobObserved:
        """Read what ``observe`` returned by label."""
        return cls(
            task=TaskObserved.read(observed),
            source=observed.get("source"),
            jobs=observed.get("jobs") or (),
            cn_sets=observed.get("cnSets") or (),
            log_sets=observed.get("logSets") or (),
            claims=observed.get("claims") or (),
            backups=observed.get("backups"),
            existing=existing(observed),
        )
