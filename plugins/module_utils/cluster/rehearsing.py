# SPDX-License-Identifier: Apache-2.0
"""The rehearsal of an upgrade to another major release: a RestoreJob that the cluster creates.

It restores the Backup that is the way back into a throw-away cluster of the new version. There is
one for each Backup and version, and it is not repeated: what it came to is on the Backup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..api.fields import as_table
from ..api.types import Manifest, Resource
from ..api.versions import Version, parse
from ..backup.verification.orders import verification_of
from ..upgrade.checks import Check, Name, Result
from ..workload.component import Reference
from ..workload.plans import Observed
from .canary import canary_checks

REHEARSALS: Final = "rehearsals"
"""Label of the RestoreJobs, among what was observed."""
_COMPONENT: Final = "app.kubernetes.io/component"
_REHEARSAL: Final = "rehearsal"
_KEPT: Final = "24h"


def rehearsal_references(resource: Resource) -> dict[str, Reference]:
    """Return the reference to the rehearsals of a cluster."""
    metadata = resource["metadata"]
    labels = {names.LABEL_CLUSTER: metadata["name"], _COMPONENT: _REHEARSAL}
    reference = {"api_version": names.API_VERSION, "kind": names.RESTORE_JOB, "labels": labels}
    return {REHEARSALS: {**reference, "namespace": metadata["namespace"], "if_allowed": True}}


def missing_rehearsal(
    resource: Resource, checks: Sequence[Check], target: Version
) -> Manifest | None:
    """Return the RestoreJob that rehearses an upgrade; None if nothing is to be rehearsed.

    Nothing is where the path is known to fail, and where the tag of the image does not name the
    version: by it the result would not be recognized.

    Args:
        resource: the cluster.
        checks: what they came to.
        target: the version that is asked for.
    """
    by_name = {one.name: one for one in checks}
    rehearsal, backup = by_name.get(Name.REHEARSAL), by_name[Name.BACKUP].subject
    is_due = rehearsal is not None and rehearsal.result is Result.UNKNOWN and backup
    tag = str(resource["spec"].get("version") or "")
    named_by_tag = parse(tag)
    if not is_due or by_name[Name.PATH].holds_back:
        return None
    if named_by_tag is None or named_by_tag.numbers != target.numbers:
        return None
    metadata = resource["metadata"]
    verify: dict[str, Any] = {"version": tag}
    if asked := canary_checks(resource):
        verify["checks"] = [one.document for one in asked]
    return verification_of(
        _name(metadata, backup, tag),
        metadata["namespace"],
        backup,
        verify,
        {"ttl": _KEPT},
        {names.LABEL_CLUSTER: metadata["name"], _COMPONENT: _REHEARSAL},
    )


def under_way(observed: Observed, job: Manifest) -> str:
    """Return how a rehearsal is, for people.

    Args:
        observed: what the references of the cluster led to.
        job: its RestoreJob, as it is to be created.
    """
    name = job["metadata"]["name"]
    live = [one for one in observed.get(REHEARSALS) or [] if one["metadata"]["name"] == name]
    status = as_table(live[0].get("status")) if live else {}
    said = ": ".join(str(status[key]) for key in ("phase", "message") if status.get(key))
    what = f"RestoreJob {name} restores Backup {job['spec']['backupName']} into the new version"
    return f"{what} ({said})" if said else what


def _name(metadata: Mapping[str, Any], backup: str, tag: str) -> str:
    text = f"{metadata.get('uid')}/{backup}/{tag}"
    return f"{_REHEARSAL}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
