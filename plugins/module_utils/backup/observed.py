# SPDX-License-Identifier: Apache-2.0
"""What a pass over a Backup observed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..api.types import Resource
from ..workload.plans import Observed
from .task.observed import TaskObserved, existing
from .users import Everything


@dataclass(frozen=True, slots=True)
class BackupObserved:
    """What is known of a Backup when a pass decides.

    Attributes:
        task: the objects of the Job that deletes its data, or looks for them.
        existing: labels of what exists, the Secrets of its location among it.
        everything: all that may need it; None where some of that could not be listed.
        made_by: the BackupJob of which it may be; None if there is none.
    """

    task: TaskObserved = field(default_factory=TaskObserved)
    existing: frozenset[str] = frozenset()
    everything: Everything | None = None
    made_by: Resource | None = None

    @classmethod
    def read(cls, observed: Observed) -> BackupObserved:
        """Read what ``observe`` returned by label."""
        return cls(
            task=TaskObserved.read(observed),
            existing=existing(observed),
            everything=Everything.of(observed),
            made_by=observed.get("madeBy"),
        )
