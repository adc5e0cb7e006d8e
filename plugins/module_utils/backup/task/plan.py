# SPDX-License-Identifier: Apache-2.0
"""The shape of a plan for a resource whose work a Job does: BackupJob and RestoreJob."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...admission.pod_security import Level
from ...api.types import Manifest
from ...reporting.reasons import BackupReason
from ...workload.kind import PassStart
from ...workload.plans import Plan
from .observed import moment_of

PENDING, RUNNING, COMPLETED, FAILED = "Pending", "Running", "Completed", "Failed"
"""Phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan(Plan):
    """A plan for a BackupJob or RestoreJob.

    Attributes:
        phase: Pending, Running, Completed or Failed.
        progress: reason of the condition Progressing.
        problem: ``reason`` and ``message`` of what is wrong; empty if nothing is.
        message: what it waits for or does.
        begun: when it had its turn, RFC 3339; empty while it had not.
        facts: further fields of the status.
        record: the Backup to create, if a backup succeeded.
        record_once: its ``Kind/name``: later changes of a Backup are its user's.
        verified: status of the Backup with what a verification came to, or as its BackupJob has
            proven it; empty to leave it.
        stop: objects to delete, as the deadline is over or they are of no more use.
        expired: the resource itself, when its time to live is over.
        requeue: when to look again; empty for not at all.
    """

    phase: str = PENDING
    progress: str = BackupReason.WAITING.value
    problem: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    begun: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    record: Sequence[Manifest] = ()
    record_once: Sequence[str] = ()
    verified: Mapping[str, Any] = field(default_factory=dict)
    stop: Sequence[Mapping[str, Any]] = ()
    expired: Sequence[Mapping[str, Any]] = ()
    requeue: str = ""


@dataclass(frozen=True, slots=True)
class PassContext:
    """What a plan is made in.

    Attributes:
        now: the present, RFC 3339.
        image: of the operator; empty where that is not known.
        level: of the Pod Security Standards.
    """

    now: str
    image: str = ""
    level: Level = Level.RESTRICTED

    @classmethod
    def of(cls, start: PassStart) -> PassContext:
        """Return what a pass is made in; the clock's time where it was not given one."""
        return cls(moment_of(start.observed), start.play.image, start.play.level)


def failed(reason: str, message: str, begun: str = "", facts: Any = None) -> JobPlan:
    """Return the plan that ends a resource as failed.

    Args:
        reason: what is wrong: a `BackupReason` or a `tasks.Reason`.
        message: the same for people.
        begun: when it had its turn.
        facts: further fields of the status.
    """
    return JobPlan(
        phase=FAILED,
        progress=BackupReason.SETTLED.value,
        problem={"reason": reason, "message": message},
        message=message,
        begun=begun,
        facts=facts or {},
    )
