# SPDX-License-Identifier: Apache-2.0
"""The Jobs of a verification: one reads the throw-away database, one deletes its data.

The second one is created, suspended, as soon as there is a cluster that could write data: by then
it is known where they are and how they are recognized, and at the end the Backup may be gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...api.fields import Fields
from ...api.timestamps import unix_time
from ...api.types import Manifest, Resource
from ...workload.component import Reference
from ...workload.references import POD_PROBLEMS, pod_problems
from ..task import jobs
from ..task.objects import task_references
from ..task.plan import PassContext
from ..task.starting import beyond, deadline
from ..task.tasks import Login, Task, Verb
from . import cluster as verification_cluster
from .checks import Check

READ: Final = "read"
PURGE: Final = "purge"
"""Suffixes of the Jobs' names."""
PURGE_SECONDS: Final = 1800
_LEAST_SECONDS: Final = 60
_READ_RETRIES: Final = 4
"""Of what may pass, with the growing delay of Kubernetes; what is damaged is not tried again."""
_SESSIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Created:
    """Objects to create.

    Attributes:
        objects: in their order.
        create_only: ``Kind/name`` of those that are never changed.
        invalid: why they cannot be created; empty if they can.
    """

    objects: Sequence[Manifest] = ()
    create_only: Sequence[str] = ()
    invalid: str = ""


def job_references(resource: Resource) -> dict[str, Reference]:
    """Return the references to both Jobs, their results and the Pods, by label."""
    metadata = resource["metadata"]
    found: dict[str, Reference] = {}
    for suffix in (READ, PURGE):
        base = jobs.base_name(metadata["name"], suffix)
        for label, reference in task_references(resource, metadata["namespace"], base).items():
            if label in ("job", "result"):
                found[f"{suffix}{label.title()}"] = reference
            elif label == POD_PROBLEMS:
                found[f"{suffix}Problems"] = pod_problems(f"{suffix}Job")
            elif label == "pods":
                found[label] = reference
    return found


def read_objects(
    resource: Resource, cluster: Resource, context: PassContext, begun: str
) -> Created:
    """Return the objects that read the throw-away database.

    Args:
        resource: the RestoreJob.
        cluster: the throw-away cluster, which serves.
        context: time, image and level.
        begun: when the verification began; it has one deadline.

    Raises:
        InvalidSpec: a field that shapes the Pod cannot be used.
    """
    spec, status = Fields("", resource).table("spec"), cluster["status"]
    left = unix_time(begun) + deadline(spec) - unix_time(context.now)
    seconds = max(_LEAST_SECONDS, int(left))
    task = Task(
        verb=Verb.READ,
        id=str(resource["metadata"]["uid"]),
        login=Login(str(status["host"]), int(status.get("port") or 6001)),
        checks=tuple(Check.of(check.data) for check in spec.table("verify").tables("checks")),
        upgraded_to=spec.table("verify").text("version"),
        deadline_seconds=seconds,
        parallelism=_SESSIONS,
    )
    login = str(cluster["spec"]["credentialSecretRef"]["name"])
    settings = jobs.Settings.of(spec, context.image)
    settings = replace(
        settings, backoff_limit=_READ_RETRIES, deadline_seconds=seconds, suspend=False
    )
    return _created(resource, READ, task, settings, context, login=login)


def purge_objects(resource: Resource, cluster: Resource, context: PassContext) -> Created:
    """Return the objects that are going to delete the data of the throw-away cluster.

    None for a volume, which is deleted with the cluster.

    Raises:
        InvalidSpec: a field that shapes the Pod cannot be used.
    """
    bucket = verification_cluster.bucket_of(cluster)
    if bucket is None:
        return Created()
    location, table = bucket
    task = Task(
        verb=Verb.PURGE,
        id=str(resource["metadata"]["uid"]),
        target=location,
        # The id of the restore, as a cluster's own RestoreJob has it.
        expected_id=str(cluster["metadata"]["uid"]),
        deadline_seconds=PURGE_SECONDS,
    )
    settings = jobs.Settings.of(Fields("", resource).table("spec"), context.image)
    settings = replace(settings, deadline_seconds=PURGE_SECONDS, suspend=True)
    return _created(resource, PURGE, task, settings, context, target=table)


def _created(
    resource: Resource, suffix: str, task: Task, settings: jobs.Settings, context: PassContext,
    login: str = "", target: Fields | None = None,
) -> Created:  # fmt: skip
    work = jobs.Work(
        resource=resource,
        namespace=resource["metadata"]["namespace"],
        suffix=suffix,
        task=task,
        login=login,
        target=target,
    )
    objects = jobs.task_objects(work, settings)
    refused = "; ".join(map(str, beyond(objects, context.level)))
    return Created(invalid=refused) if refused else Created(objects, jobs.created_once(objects))
