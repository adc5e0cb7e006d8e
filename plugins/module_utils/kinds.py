# SPDX-License-Identifier: Apache-2.0
"""Every kind of resource by name: the one place where kinds are told apart.

A new kind is a package of its own and a line in `KINDS`: a `Component`, if it is a set of Pods,
or else a `Kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .admission.pod_security import Level
from .admission.shapes import Mistake, shortened
from .api import names
from .api.errors import InvalidSpec
from .api.types import Manifest, References, Resource
from .backup.job.kind import BACKUP_JOB
from .backup.kind import BACKUP
from .backup.restore.kind import RESTORE_JOB
from .backup.schedule.kind import BACKUP_SCHEDULE
from .bucket.kind import BUCKET_CLAIM
from .cluster.children import render_with_children
from .cluster.kind import CLUSTER
from .cluster.parts import PARTS
from .database.kind import DATABASE
from .early.kind import EARLY
from .early.rendering import render_early
from .pool.claim_kind import CN_CLAIM
from .pool.claim_set_kind import CN_CLAIM_SET
from .pool.pool_kind import CN_POOL
from .user.kind import DATABASE_USER
from .workload.component import SetStart
from .workload.kind import Kind
from .workload.set_kind import kind_of_set

SETS: Final = {kind: kind_of_set(part) for kind, part in PARTS.items()}
KINDS: Final[dict[str, Kind[Any]]] = {
    names.CLUSTER: CLUSTER,
    names.EARLY: EARLY,
    names.BACKUP_SCHEDULE: BACKUP_SCHEDULE,
    names.BACKUP_JOB: BACKUP_JOB,
    names.RESTORE_JOB: RESTORE_JOB,
    names.BACKUP: BACKUP,
    names.BUCKET_CLAIM: BUCKET_CLAIM,
    names.DATABASE: DATABASE,
    names.DATABASE_USER: DATABASE_USER,
    names.CN_POOL: CN_POOL,
    names.CN_CLAIM: CN_CLAIM,
    names.CN_CLAIM_SET: CN_CLAIM_SET,
    **SETS,
}


def kind_of(resource: Resource) -> Kind[Any]:
    """Return the kind of a resource of ours."""
    return KINDS[resource["kind"]]


def render_everything(
    resource: Resource,
    *,
    start_scripts: Mapping[str, str],
    references: References | None = None,
) -> list[Manifest]:
    """Return every object that a resource leads to, children's children included.

    Args:
        resource: a resource of any kind of ours.
        start_scripts: text of each start script by the name of its role (``logset``, ``cnset`` …).
        references: what a set depends on; a cluster brings its own.

    Raises:
        InvalidSpec: The kind is none of ours, or the resource or one of its children cannot be
            rendered; the message of a child's error begins with the child.
    """
    kind = rendered_kind(resource)
    if kind == names.EARLY:
        return render_early(resource)
    if kind == names.CLUSTER:
        return render_with_children(resource, start_scripts)
    script = start_scripts.get(kind.lower(), "")
    return PARTS[kind].renderer.render(SetStart(resource, script=script, played=references))


def rendered_kind(resource: Resource) -> str:
    """Return the kind by which a resource is rendered.

    Raises:
        InvalidSpec: The kind is none of ours, or one that only an operator can carry out.
    """
    version, kind = resource.get("apiVersion"), str(resource.get("kind"))
    if version not in (names.API_VERSION, names.EARLY_API_VERSION):
        raise InvalidSpec("apiVersion", f"must be {names.API_VERSION}, not {version!r}")
    if version == names.EARLY_API_VERSION:
        return names.EARLY
    if kind not in (names.CLUSTER, *SETS):
        known = ", ".join((names.CLUSTER, *SETS))
        raise InvalidSpec("kind", f"{kind} is not rendered here; it must be one of {known}")
    return kind


def refusals(
    resource: Resource, old: Resource | None, level: Level = Level.RESTRICTED
) -> list[Mistake]:
    """Return why a resource may not be stored.

    Args:
        resource: as it is to be.
        old: as it is now; None for a new one. What is wrong with it already may stay, as with
            rules in CEL: a finalizer or a label must not depend on an old mistake.
        level: of the Pod Security Standards, which Pods must meet.

    Returns:
        The first mistakes, and in place of many more their number.
    """
    judge = kind_of(resource).judge
    found = judge.refuses(resource, level)
    if found and old is not None:
        known = {mistake.mark for mistake in judge.refuses(old, level)}
        found = [mistake for mistake in found if mistake.mark not in known]
    return shortened(found)


def warnings_of(resource: Resource, old: Resource | None = None) -> list[str]:
    """Return what a user should know about a resource that is valid.

    Args:
        resource: as it is to be.
        old: as it was, for an update.
    """
    return kind_of(resource).judge.warns(resource, old)
