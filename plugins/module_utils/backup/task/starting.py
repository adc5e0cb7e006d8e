# SPDX-License-Identifier: Apache-2.0
"""How the Job of a task begins: whose its files are, how long it has, and what it may not be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...admission.pod_security import Level, pod_mistakes
from ...api.fields import Fields
from ...api.owners import Owner
from ...api.types import Manifest, Resource
from ...reporting.reasons import BackupReason
from . import jobs, tasks
from .plan import RUNNING, JobPlan


def owner_of(resource: Resource) -> Owner:
    """Return whose the files are that a task of a resource writes; its uid is the task's id."""
    metadata = resource["metadata"]
    return Owner(resource["kind"], metadata.get("namespace") or "", metadata["name"])


def deadline(spec: Fields) -> int:
    """Return the seconds that a BackupJob has from its start."""
    return spec.number("activeDeadlineSeconds", 1) or tasks.DEADLINE_SECONDS


def beyond(objects: Iterable[Manifest], level: Level) -> Iterable[Any]:
    """Yield what the Pods of Jobs have beyond a level of the Pod Security Standards."""
    for manifest in objects:
        if manifest["kind"] == "Job":
            yield from pod_mistakes(
                f"Job {manifest['metadata']['name']}", manifest["spec"]["template"], level
            )


def started(
    objects: Sequence[Manifest], level: Level, facts: Mapping[str, Any] | None = None
) -> JobPlan:
    """Plan to create a Job and what it needs, unless its Pods go beyond a level.

    Args:
        objects: to create, in their order.
        level: of the Pod Security Standards.
        facts: what is to be kept in the status.
    """
    refused = "; ".join(map(str, beyond(objects, level)))
    if refused:
        return JobPlan(invalid=refused)
    return JobPlan(
        phase=RUNNING,
        progress=BackupReason.STARTING.value,
        message="the Job is being created",
        facts=facts or {},
        objects=objects,
        create_only=jobs.created_once(objects),
        requeue="5s",
    )
