# SPDX-License-Identifier: Apache-2.0
"""What a pass over a RestoreJob that proves a backup observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...api.types import Manifest, Resource
from ...reporting.pod_problems import PodProblems
from ...workload.plans import Observed
from ..task.observed import TaskObserved, existing
from .jobs import PURGE, READ


@dataclass(frozen=True, slots=True)
class VerificationObserved:
    """What is known of a verification when a pass decides.

    Attributes:
        backup: the Backup that it proves; None if there is none.
        backups: all Backups.
        restore_jobs: the RestoreJobs of its namespace.
        source: the MatrixOneCluster that was backed up; None if it is not in this namespace.
        cluster: the cluster that it has created; None if there is none.
        copy: the RestoreJob of that cluster.
        reading: the objects of the Job that reads that cluster.
        purging: the objects of the Job that deletes its data.
        existing: labels of what exists, the Secrets that it needs among it.
    """

    backup: Resource | None = None
    backups: Sequence[Resource] = ()
    restore_jobs: Sequence[Resource] = ()
    source: Resource | None = None
    cluster: Resource | None = None
    copy: Resource | None = None
    reading: TaskObserved = field(default_factory=TaskObserved)
    purging: TaskObserved = field(default_factory=TaskObserved)
    existing: frozenset[str] = frozenset()

    @classmethod
    def read(cls, observed: Observed) -> VerificationObserved:
        """Read what ``observe`` returned by label."""
        return cls(
            backup=observed.get("backup"),
            backups=observed.get("backups") or (),
            restore_jobs=observed.get("restoreJobs") or (),
            source=observed.get("source"),
            cluster=observed.get("throwAway"),
            copy=observed.get("copy"),
            reading=_task(READ, observed),
            purging=_task(PURGE, observed),
            existing=existing(observed),
        )


def _task(suffix: str, observed: Observed) -> TaskObserved:
    """Return the objects of one of the Jobs, see `job_references`."""
    pods: Sequence[Manifest] = observed.get("pods") or ()
    return TaskObserved(
        job=observed.get(f"{suffix}Job"),
        result=observed.get(f"{suffix}Result"),
        pods=[pod for pod in pods if _component(pod) == suffix],
        problems=PodProblems.read(observed.get(f"{suffix}Problems")),
    )


def _component(pod: Mapping[str, Any]) -> str:
    labels = pod["metadata"].get("labels") or {}
    return str(labels.get("app.kubernetes.io/component") or "")
