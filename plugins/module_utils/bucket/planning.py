# SPDX-License-Identifier: Apache-2.0
"""What one pass over a BucketClaim is going to do: grant the path, release it, or delete its data.

Of claims whose paths overlap, the oldest is granted. A deletion has an end: data are kept when they
could not be deleted in time, or when an annotation asks for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..backup.claimed_paths import scope_of
from ..backup.task.deletion import (
    halted,
    in_time,
    missing_secret,
    ongoing,
    released,
    started,
    wrong,
)
from ..backup.task.facts import facts_of
from ..backup.task.lifecycle import JOB, identity, left_of
from ..backup.task.plan import PassContext
from ..backup.task.starting import owner_of as owner_of_task
from ..backup.task.state import State, task_state_of
from ..backup.task.tasks import Task, Verb
from ..location import locations
from ..reporting.reasons import BackupReason, ConditionType
from ..workload.plans import is_paused
from .bucket_jobs import objects_of, secrets_of
from .claims import (
    DELETING,
    IN_USE,
    LEGACY_FINALIZERS,
    PENDING,
    RELEASED,
    Granted,
    Owner,
    followed,
    granted_of,
    has_run,
    holder,
    is_live,
    kept_from,
    location_of,
    named,
    owner_of,
    possible_holder,
    predecessor,
    was_refused,
)
from .marking import Marking, mark_of
from .observed import BucketObserved
from .plans import BucketPlan

SUFFIX: Final = "reclaim"
_CONTESTED: Final = "10s"
_HELD_SECONDS: Final = 5.0
"""Seconds after which a pass of another claim has written what it decided."""
_SETTLING: Final = 2.0
"""Seconds after which all claims can be seen that were created in the same second."""
_UNPROVEN: Final = (
    "no log store was ever seen ready: it is not known whether the data at the path, if there are "
    "any, are of this database (of a restore, for example) or of somebody else; they are kept"
)


def plan_bucket(resource: Resource, observed: BucketObserved, context: PassContext) -> BucketPlan:
    """Decide what a pass does.

    Args:
        resource: the claim.
        observed: what its references led to.
        context: time, image and level.
    """
    try:
        location_of(resource)
        if resource["metadata"].get("deletionTimestamp"):
            return _deletion(resource, observed, context)
        if is_paused(resource):
            return BucketPlan(paused=True)
        return _of_live(resource, observed, context)
    except RenderingError as error:
        return _unusable(resource, str(error))


def _unusable(resource: Resource, mistake: str) -> BucketPlan:
    """Return the plan for a claim of a path that cannot be read: nothing is deleted for it."""
    status = resource.get("status") or {}
    phase = IN_USE if status.get("state") == IN_USE else PENDING
    bind_to = str(status.get("bindTo") or "") if phase == IN_USE else ""
    plan = BucketPlan(phase=phase, bind_to=bind_to, invalid=mistake, done=True)
    is_deleted = bool(resource["metadata"].get("deletionTimestamp"))
    return _without_legacy_finalizers(plan, resource) if is_deleted else plan


def _of_live(resource: Resource, observed: BucketObserved, context: PassContext) -> BucketPlan:
    owner, others = owner_of(resource), observed.others
    if owner is None or not (
        is_live(owner, observed.log_set) or _pods_of(owner, resource, observed)
    ):
        return replace(_released(resource, others), stop=left_of(observed.task))
    bind_to = f"{resource['metadata']['namespace']}/{owner.name}"
    using = BucketPlan(phase=IN_USE, bind_to=bind_to, done=True)
    if (resource.get("status") or {}).get("state") != IN_USE:
        return _asked_for(resource, using, BucketPlan(phase=PENDING), observed, context)
    here = Granted.at(location_of(resource))
    granted = granted_of(resource) or here  # of a claim that an earlier release granted
    waiting = replace(using, facts={"granted": granted.document})
    if not granted.is_at(here):
        return _asked_for(resource, using, waiting, observed, context)
    if granted.mark:
        return replace(waiting, stop=left_of(observed.task), expired=followed(resource, others))
    return Marking(resource, using, waiting, others, is_running=True).plan(observed, context)


def _asked_for(
    resource: Resource,
    using: BucketPlan,
    waiting: BucketPlan,
    observed: BucketObserved,
    context: PassContext,
) -> BucketPlan:
    """Grant a path that nobody else has."""
    others = observed.others
    other = holder(resource, others, (IN_USE, DELETING)) or predecessor(resource, others)
    if other is not None and _is_given_back(other) and not was_refused(resource):
        message = f"{named(other)}, which is giving it back"
        return replace(waiting, message=message, requeue="2s")
    why = named(other) if other is not None else _kept(kept_from(resource, others))
    if why:
        taken = wrong(waiting, BackupReason.PATH_TAKEN.value, why)
        return replace(taken, requeue=_CONTESTED)
    if unix_time(context.now) - unix_time(resource["metadata"]["creationTimestamp"]) < _SETTLING:
        return replace(waiting, message="checking whether the path is free", requeue="1s")
    return Marking(resource, using, waiting, others).plan(observed, context)


def _is_given_back(claim: Mapping[str, Any]) -> bool:
    """Return whether a LogSet has given a path back, and no pass has seen that yet."""
    owner = owner_of(dict(claim))
    is_kept = not claim["metadata"].get("deletionTimestamp")
    return owner is not None and owner.released and is_kept


def _kept(claim: Mapping[str, Any] | None) -> str:
    """Say that data are kept for a database that had the path first; empty without a claim."""
    if claim is None:
        return ""
    metadata, granted, owner = claim["metadata"], granted_of(claim), owner_of(dict(claim))
    mark = (granted.mark if granted else "") or metadata.get("uid")
    place = f"{names.BUCKET_CLAIM} {metadata['namespace']}/{metadata['name']}"
    whose = f"LogSet {metadata['namespace']}/{owner.name}" if owner else "a deleted LogSet"
    return (
        f"the path holds the data of {whose}, which are kept ({place}), and that one had the path "
        "first: use another path; or delete that claim with its data; or, if this database is to "
        f"go on with them, annotate this claim with {names.ANNOTATION_ADOPT}={mark}"
    )


def _released(resource: Resource, others: Sequence[Mapping[str, Any]]) -> BucketPlan:
    plan = BucketPlan(phase=RELEASED, done=True)
    successor = holder(resource, others, (IN_USE,))
    if successor is None:
        return replace(plan, message="the path is free; its data are kept")
    identity = {key: resource["metadata"][key] for key in ("name", "namespace")}
    gone = {
        "apiVersion": names.API_VERSION,
        "kind": names.BUCKET_CLAIM,
        "metadata": identity,
    }
    return replace(plan, message=f"of no more use: {named(successor)}", expired=[gone])


def _deletion(resource: Resource, observed: BucketObserved, context: PassContext) -> BucketPlan:
    plan = _of_deleted(resource, observed, context)
    if (kept := released(resource)) and not plan.done:
        plan = replace(plan, done=True, kept=kept, objects=())
    plan = halted(plan, observed.task)
    return _without_legacy_finalizers(plan, resource)


def _without_legacy_finalizers(plan: BucketPlan, resource: Resource) -> BucketPlan:
    """Take the finalizers of the Go operator off a claim that may go."""
    metadata = resource["metadata"]
    left = [
        finalizer
        for finalizer in metadata.get("finalizers") or []
        if not finalizer.startswith(LEGACY_FINALIZERS)
    ]
    if plan.done and len(left) < len(metadata.get("finalizers") or []):
        place = {key: metadata[key] for key in ("name", "namespace")}
        patch: Manifest = {
            "apiVersion": names.API_VERSION,
            "kind": names.BUCKET_CLAIM,
            "metadata": {**place, "finalizers": left},
        }
        return replace(plan, patches=[patch])
    return plan


def _of_deleted(resource: Resource, observed: BucketObserved, context: PassContext) -> BucketPlan:
    """Return what is to be done about the data of a claim that is deleted."""
    owner, metadata = owner_of(resource), resource["metadata"]
    if owner is not None and is_live(owner, observed.log_set):
        bind_to = f"{metadata['namespace']}/{owner.name}"
        message = f"LogSet {bind_to} uses the path; the claim is deleted after it"
        return wrong(BucketPlan(phase=IN_USE, bind_to=bind_to), BackupReason.IN_USE.value, message)
    plan = BucketPlan(phase=DELETING)
    decided = _without_a_job(plan, resource, observed)
    if decided is not None:
        return decided
    plan = _deleting(plan, resource, observed, context)
    return in_time(plan, resource, observed.task, context)


def _without_a_job(
    plan: BucketPlan, resource: Resource, observed: BucketObserved
) -> BucketPlan | None:
    """Return the plan for a claim whose data are not deleted, or not yet; None if they are."""
    if Fields("", resource).table("spec").table("s3").text("s3RetentionPolicy") != "Delete":
        return replace(plan, done=True)
    if waiting := _not_yet_released(resource):
        return wrong(plan, BackupReason.IN_USE.value, waiting)
    if kept := _reason_to_keep(resource, observed):
        return replace(plan, done=True, kept=kept)
    if not has_run(resource):
        return replace(plan, done=True, kept=_UNPROVEN)
    return None


def _not_yet_released(resource: Resource) -> str:
    """Return what a claim of a LogSet that is gone waits for, in the first pass that finds so.

    That pass may have begun before the LogSet released the path. It records the state Deleting, and
    whoever reads that reads the release, too, if there was one.
    """
    owner, state = owner_of(resource), (resource.get("status") or {}).get("state")
    if owner is None or owner.released or state == DELETING:
        return ""
    return f"LogSet {owner.name} is gone; checking whether it released the path"


def _reason_to_keep(resource: Resource, observed: BucketObserved) -> str:
    """Return why data that the policy says to delete are kept; empty if they are not."""
    owner = owner_of(resource)
    if owner is not None and not owner.released:
        return f"LogSet {owner.name} did not release the path; its data are kept"
    other = possible_holder(resource, observed.others, (IN_USE,))
    return f"the data are kept: {named(other)}" if other is not None else ""


def _deleting(
    plan: BucketPlan, resource: Resource, observed: BucketObserved, context: PassContext
) -> BucketPlan:
    task_state = task_state_of(observed.task, context.now)
    plan = replace(plan, facts=facts_of(task_state))
    if task_state.state is State.SUCCEEDED:
        return replace(plan, done=True, message="the data are deleted")
    if (under_way := ongoing(plan, task_state, observed.task, context)) is not None:
        return under_way
    if (waits := _waits(plan, resource, observed, context)) is not None:
        return waits
    namespace, objects = resource["metadata"]["namespace"], _objects(resource, context)
    secrets = secrets_of(resource)
    if (waiting := missing_secret(plan, secrets, namespace, observed.existing)) is not None:
        # In a namespace that is being deleted, the Secret never comes back. The API server says so
        # when anything is created there, which ends the wait.
        asking = [
            manifest
            for manifest in objects
            if manifest["kind"] == "ConfigMap" and "data" not in manifest
        ]
        return replace(waiting, objects=asking)
    return started(plan, objects, context)


def _waits(
    plan: BucketPlan, resource: Resource, observed: BucketObserved, context: PassContext
) -> BucketPlan | None:
    """Return the plan while somebody may still use the path, or take it; None afterwards."""
    if user := _user(resource, observed):
        return wrong(plan, BackupReason.IN_USE.value, f"waiting for {user}, which uses the path")
    if not _is_held(resource, context):
        message = "holding the path, so that nobody takes it while it is deleted"
        return wrong(plan, BackupReason.WAITING.value, message)
    if (marking := observed.marking_job) is not None:
        message = "waiting for the Job that marks the path to end"
        waiting = wrong(plan, BackupReason.WAITING.value, message)
        return replace(waiting, stop=[identity({**JOB, **marking})])
    return None


def _is_held(resource: Resource, context: PassContext) -> bool:
    """Return whether all claims have seen that the path is being deleted, or are seen themselves.

    The state is written first. A pass that granted the path before it was written has ended by now,
    and what it granted keeps the data.
    """
    status = resource.get("status") or {}
    if status.get("state") != DELETING:
        return False
    since = [
        str(condition.get("lastTransitionTime") or "")
        for condition in status.get("conditions") or []
        if (condition.get("type"), condition.get("status"))
        == (ConditionType.PROGRESSING.value, "True")
    ]
    return not since or unix_time(context.now) - unix_time(since[0]) >= _HELD_SECONDS


def _user(resource: Resource, observed: BucketObserved) -> str:
    """Return a set that still refers to the LogSet; empty if none does."""
    owner = owner_of(resource)
    if _pods_of(owner, resource, observed):
        return "the Pods of the LogSet"
    for one in observed.of_log_set(owner, [*observed.dn_sets, *observed.cn_sets]):
        used = (((one.get("deps") or {}).get("logSet") or {}).get("metadata") or {}).get("name")
        if owner is not None and used == owner.name:
            return f"{one['kind']} {one['metadata']['name']}"
    return ""


def _pods_of(owner: Owner | None, resource: Resource, observed: BucketObserved) -> list[Resource]:
    """Return the Pods that may use the path of a claim.

    A later LogSet of the name may have the same one, and may have adopted Pods that never ended
    and have been replaced since: then all of its Pods count.
    """
    later = observed.log_set
    if later is not None and _may_have_path(later, resource):
        return list(observed.log_pods)
    return observed.of_log_set(owner, observed.log_pods)


def _may_have_path(log_set: Resource, resource: Resource) -> bool:
    storage = (log_set.get("spec") or {}).get("sharedStorage") or {}
    fields = Fields("spec.sharedStorage", storage)
    return locations.may_overlap(location_of(resource), fields, scope_of(log_set))


def _objects(resource: Resource, context: PassContext) -> list[Manifest]:
    """Return the objects of the Job that deletes the data."""
    task = Task(
        verb=Verb.RECLAIM,
        id=mark_of(resource),
        owner=owner_of_task(resource),
        target=location_of(resource),
    )
    return objects_of(resource, SUFFIX, task, context.image)
