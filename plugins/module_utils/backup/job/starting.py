# SPDX-License-Identifier: Apache-2.0
"""How a BackupJob becomes a task when it is its turn: what it needs, what makes it fail at once."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Final

from ...api.errors import RenderingError
from ...api.fields import Fields
from ...api.types import Resource
from ...location import locations
from ...reporting.reasons import BackupReason
from .. import sources
from ..claimed_paths import data_at
from ..manifest import FULL, INCREMENTAL, TYPES, Origin
from ..sources import Source
from ..task import jobs, tasks
from ..task.plan import JobPlan, PassContext, failed
from ..task.starting import deadline, owner_of, started
from ..task.tasks import Login, Task, Verb
from . import bases
from .bases import Base
from .observed import JobObserved

SUFFIX: Final = "backup"
_UNREADABLE: Final = (
    "the operator has no right to Backups, as one of single namespaces; make a full backup, or use "
    "an operator for all namespaces"
)
_NAMESPACE: Final = uuid.UUID("5f0c6f3e-0f0b-4f53-9a0a-6d6f2d6f6272")
"""For ids of BackupJobs that are in no cluster."""


def backup_id(resource: Resource) -> str:
    """Return the id of the backup that a BackupJob makes, the same in each pass."""
    metadata = resource["metadata"]
    given = metadata.get("uid")
    if given:
        return str(given)
    return str(uuid.uuid5(_NAMESPACE, f"{metadata['namespace']}/{metadata['name']}"))


def start(resource: Resource, observed: JobObserved, context: PassContext) -> JobPlan:
    """Create the task, or say what that waits for or why it cannot be done."""
    waiting = JobPlan(requeue="10s")
    source = sources.find_source(resource, observed.source, observed.log_sets)
    kind, name = sources.named_source(resource)
    if source is None:
        return replace(waiting, message=f"waiting for {kind} {name}, which does not exist")
    if not source.host or not source.secret:
        return replace(waiting, message=f"waiting for {kind} {name}, which has no address yet")
    for secret in missing_secrets(resource, observed):
        message = f"waiting for Secret {secret}, which does not exist"
        problem = {"reason": BackupReason.SECRET_MISSING.value, "message": message}
        return replace(waiting, message=message, problem=problem)
    try:
        return _create(resource, observed, source, context)
    except RenderingError as error:
        return JobPlan(invalid=str(error))


def missing_secrets(resource: Resource, observed: JobObserved) -> list[str]:
    """Return the names of Secrets that the resource names and that do not exist."""
    wanted = {**login_secret(resource), **target_secrets(resource)}
    return [name for label, name in wanted.items() if label not in observed.existing]


def login_secret(resource: Resource) -> dict[str, str]:
    """Return the Secret for the database that the spec names, by the label of its reference.

    That of a cluster exists as long as the cluster.
    """
    name = Fields("", resource).table("spec").table("source").text("secretRef")
    return {"loginSecret": name} if name else {}


def target_secrets(resource: Resource) -> dict[str, str]:
    """Return the Secrets that the target names, by the label of their reference."""
    return jobs.secrets_of(Fields("", resource).table("spec").table("target"), "target")


def _create(
    resource: Resource, observed: JobObserved, source: Source, context: PassContext
) -> JobPlan:
    spec = Fields("spec", resource.get("spec") or {})
    place = spec.table("target")
    target = locations.from_fields(place, locations.TARGET, source.scope)
    own = (
        locations.from_fields(source.storage, locations.SOURCE, source.scope, in_use=True)
        if source.storage
        else None
    )
    if own is not None and locations.overlap(target, own):
        message = (
            f"the target {target.address} is not apart from {own.address}, where the database "
            "keeps its data"
        )
        return failed(tasks.Reason.TARGET_IS_SOURCE.value, message)
    if why := data_at(target, observed.claims):
        message = f"the target {target.address} is not apart from {why}, where a database has data"
        return failed(tasks.Reason.TARGET_IS_SOURCE.value, message)
    base, why = _base(spec, observed, source, target)
    if why:
        return failed(tasks.Reason.BASE_MISSING.value, why)
    settings = jobs.Settings.of(spec, context.image)
    task = Task(
        verb=Verb.BACKUP,
        id=backup_id(resource),
        type=spec.choice("type", TYPES, FULL),
        base=base.backup if base else None,
        owner=owner_of(resource),
        attempts=settings.backoff_limit + 1,
        login=Login(source.host, source.port, tls=bool(source.certificate)),
        origin=Origin(source.kind, source.namespace, source.name, source.uid),
        target=target,
        forbidden=(own,) if own else (),
        deadline_seconds=deadline(spec),
        parallelism=spec.number("parallelism", 1) or tasks.PARALLELISM,
    )
    objects = jobs.task_objects(
        jobs.Work(
            resource=resource,
            namespace=resource["metadata"]["namespace"],
            suffix=SUFFIX,
            task=task,
            login=source.secret,
            certificate=source.certificate,
            target=place,
        ),
        settings,
    )
    facts = {"base": {"name": base.name, "id": base.backup.id}} if base else {}
    return started(objects, context.level, facts)


def _base(
    spec: Fields, observed: JobObserved, source: Source, target: locations.Location
) -> tuple[Base | None, str]:
    if spec.choice("type", TYPES, FULL) != INCREMENTAL:
        return None, ""
    if observed.backups is None:
        return None, _UNREADABLE
    return bases.choose(spec.table("base"), observed.backups, source, target)
