# SPDX-License-Identifier: Apache-2.0
"""What a pass over a RestoreJob that copies a backup observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...api.types import Resource
from ...workload.plans import Observed
from ..task.observed import TaskObserved, existing


@dataclass(frozen=True, slots=True)
class RestoreObserved:
    """What is known of a RestoreJob when a pass decides.

    Attributes:
        task: the objects of its Job.
        backup: the Backup that it names; None if it names none, or there is none.
        cluster: the MatrixOneCluster that it belongs to; None if it belongs to none.
        claims: the BucketClaims that can be read.
        existing: labels of what exists, the Secrets that it needs among it.
    """

    task: TaskObserved = field(default_factory=TaskObserved)
    backup: Resource | None = None
    cluster: Resource | None = None
    claims: Sequence[Resource] = ()
    existing: frozenset[str] = frozenset()

    @classmethod
    def read(cls, observed: Observed) -> RestoreObserved:
        """Read what ``observe`` returned by label."""
        return cls(
            task=TaskObserved.read(observed),
            backup=observed.get("backup"),
            cluster=observed.get("cluster"),
            claims=observed.get("claims") or (),
            existing=existing(observed),
        )
