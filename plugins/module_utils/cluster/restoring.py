# SPDX-License-Identifier: Apache-2.0
"""How a cluster is restored from a backup: before it has any component, and never a second time.

``status.restore`` is the record of it. It is written in a pass of its own, when the RestoreJob has
completed; components are created by later passes, which find it there. So an operator that ends
between any two writes goes on where it was. A cluster that has a log service is never restored,
whatever its record says: the backup would be copied over the data of a running database. Nor is one
that would find the volumes of earlier log stores: their log is that of another database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Manifest, Resource
from ..logservice.claims import data_claims
from ..logservice.rendering import shared_claim
from ..reporting.conditions import RESTORE_ENDED
from ..workload.component import Reference
from ..workload.plans import Observed, named
from ..workload.references import by_name, of_set
from .data_version import asked_by

Json = dict[str, Any]
Record = Mapping[str, Any]
"""``status.restore``."""

PENDING: Final = "Pending"
RUNNING: Final = "Running"
COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
SKIPPED: Final = "Skipped"
"""Nothing was restored, because there was a log service already."""
_FROM_JOB: Final = ("id", "atTime", "message")
_PLACING: Final = ("affinity", "tolerations", "imagePullSecrets", "priorityClassName")
"""What the Job's Pod takes over from the overlay of the log service."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_MOUNTING: Final = ("volumes", "volumeMounts")
"""The same, where the overlay mounts the shared file system."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Where the restore of a cluster is.

    Attributes:
        record: ``status.restore`` as it is to be; empty when none is asked for.
        objects: to apply before any component: the claim of the shared storage, the RestoreJob.
        create_only: ``Kind/name`` of those that are created but never changed.
        pending: whether components are not created yet.
    """

    record: Record
    objects: Sequence[Manifest] = ()
    create_only: Sequence[str] = ()
    pending: bool = False


def is_asked(resource: Resource) -> bool:
    """Return whether a cluster is to begin with the data of a backup."""
    spec = resource.get("spec") or {}
    return bool(spec.get("restoreFrom") or spec.get("restoreSource"))


def recorded(resource: Resource, observed: Observed) -> Record:
    """Return ``status.restore`` as it was observed, or else as the pass was given it."""
    live = observed.get("self") or {}
    uid = (live.get("metadata") or {}).get("uid")
    is_same = uid and uid == resource["metadata"].get("uid")
    statuses = [live.get("status") if is_same else None, resource.get("status")]
    records: list[Record] = [(one or {}).get("restore") or {} for one in statuses]
    found = [one for one in records if one]
    ended = [one for one in found if one.get("phase") in RESTORE_ENDED]
    return (ended or found or [{}])[0]


def is_over(resource: Resource) -> bool:
    """Return whether nothing is restored any more, by the resource alone."""
    record = (resource.get("status") or {}).get("restore") or {}
    return not is_asked(resource) or record.get("phase") in RESTORE_ENDED


def has_other_credential(resource: Resource) -> bool:
    """Return whether a database has the root credential of another one: of its backup."""
    record = (resource.get("status") or {}).get("restore") or {}
    return is_asked(resource) and record.get("phase") != SKIPPED


def restore_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe while a cluster is restored; nothing afterwards."""
    if is_over(resource):
        return {}
    metadata = resource["metadata"]
    log_set = {"kind": names.LOG_SET, "metadata": metadata}
    claims = {"logClaims": of_set(log_set, "v1", "PersistentVolumeClaim")}
    if not metadata.get("uid"):
        base = {**metadata, "name": names.base_name(names.LOG_SET, metadata["name"])}
        return {**claims, "logStores": by_name("apps/v1", "StatefulSet", base)}
    job = {**metadata, "name": names.restore_name(metadata["name"])}
    owned = {"labels": {names.LABEL_CLUSTER: metadata["name"]}, "owner_uid": metadata["uid"]}
    found = {**by_name(names.API_VERSION, names.RESTORE_JOB, job), **owned}
    return {**claims, "restoreJob": found}


def decide(resource: Resource, observed: Observed, children: Sequence[Manifest]) -> Restore:
    """Decide what of a restore is to be done.

    Args:
        resource: the MatrixOneCluster.
        observed: what its references led to.
        children: what it consists of, rendered; the LogSet first.

    Raises:
        InvalidSpec: of a playbook's cluster, which volumes of earlier log stores are in the way.
    """
    if not is_asked(resource):
        return Restore({})
    record = recorded(resource, observed)
    if record.get("phase") in RESTORE_ENDED:
        return Restore(record)
    if observed.get("logSet") or observed.get("logStores"):
        message = "nothing was restored: the cluster had a log service already"
        return Restore({"phase": SKIPPED, "from": source_of(resource), "message": message})
    log_set = children[0]
    if earlier := _earlier_log(log_set, observed):
        return _refused(resource, earlier)
    claims = [_unowned(one, resource) for one in shared_claim(log_set)]
    return Restore(
        record=_record(resource, observed.get("restoreJob")) if _is_resource(resource) else {},
        objects=[*claims, restore_job(resource, log_set)],
        create_only=[named(one) for one in claims],
        pending=_is_resource(resource),
    )


def _earlier_log(log_set: Manifest, observed: Observed) -> list[str]:
    """Return the names of the claims of log stores that a LogSet would find, in order."""
    claims = data_claims(log_set, observed.get("logClaims") or ())
    return [claim["metadata"]["name"] for _ordinal, claim in claims]


def _refused(resource: Resource, earlier: Sequence[str]) -> Restore:
    """Return the decision to restore nothing while there are volumes of earlier log stores.

    Raises:
        InvalidSpec: there is no status in which to say so.
    """
    more = ", …" if len(earlier) > 1 else ""
    message = (
        f"not created: the volumes of log stores of an earlier database are there ({earlier[0]}"
        f"{more}), and its log does not belong to the backup; to restore, delete these "
        "PersistentVolumeClaims or choose another name for the cluster; to go on with the earlier "
        "database, create the cluster without restoreFrom and restoreSource"
    )
    if not _is_resource(resource):
        field_ = "restoreFrom" if resource["spec"].get("restoreFrom") else "restoreSource"
        raise InvalidSpec(f"spec.{field_}", message)
    record = {"phase": PENDING, "from": source_of(resource), "message": message}
    return Restore(record, pending=True)


def _is_resource(resource: Resource) -> bool:
    """Return whether a cluster is in the API server, not in a playbook alone."""
    return bool(resource["metadata"].get("uid"))


def _record(resource: Resource, job: Resource | None) -> Json:
    """Return the record while the RestoreJob is there, or is going to be created."""
    begun = {"phase": PENDING, "from": source_of(resource)}
    if job is None:
        return begun
    if _is_older(job, resource):
        message = (
            f"RestoreJob {job['metadata']['name']} is older than the cluster and has restored "
            "another one; delete it"
        )
        return {**begun, "message": message}
    status = job.get("status") or {}
    kept = {name: status[name] for name in _FROM_JOB if status.get(name)}
    phase = status.get("phase") or PENDING
    if phase == COMPLETED:
        kept.pop("message", None)
        kept["completedAt"] = status.get("completionTime") or ""
    return {**begun, **kept, "phase": phase}


def _is_older(job: Resource, resource: Resource) -> bool:
    """Return whether a RestoreJob was left behind by an earlier cluster of the same name.

    Both times are RFC 3339 in UTC and whole seconds, as the API server writes them.
    """
    created = (one["metadata"].get("creationTimestamp") or "" for one in (job, resource))
    of_job, of_cluster = created
    return bool(of_job and of_cluster and of_job < of_cluster)


def source_of(resource: Resource) -> str:
    """Return what a cluster is restored from, for people: a Backup's name, or an address."""
    spec = resource.get("spec") or {}
    if spec.get("restoreFrom"):
        return str(spec["restoreFrom"])
    source = spec.get("restoreSource") or {}
    place = source.get("s3") or source.get("fileSystem") or {}
    return str(place.get("path") or "")


def restore_job(resource: Resource, log_set: Manifest) -> Manifest:
    """Return the RestoreJob that fills the shared storage of a cluster.

    Args:
        resource: the MatrixOneCluster.
        log_set: its LogSet, rendered.
    """
    spec, metadata = resource["spec"], resource["metadata"]
    from_backup = {"backupName": spec.get("restoreFrom")}
    source = from_backup if spec.get("restoreFrom") else {"externalSource": spec["restoreSource"]}
    desired: Json = {**source, "target": _target(log_set)}
    overlay = log_set["spec"].get("overlay") or {}
    if overlay.get("serviceAccountName"):
        desired["serviceAccountName"] = overlay["serviceAccountName"]
    taken = _overlay(log_set)
    if taken:
        desired["overlay"] = taken
    labels = {**log_set["metadata"]["labels"], "app.kubernetes.io/component": "restore"}
    place = {"name": names.restore_name(metadata["name"])}
    version = asked_by(resource)
    runs = {"annotations": {names.ANNOTATION_RUNS_VERSION: str(version)}} if version else {}
    place |= {"namespace": log_set["metadata"]["namespace"]}
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.RESTORE_JOB,
        "metadata": {**place, "labels": labels, **runs},
        "spec": desired,
    }


def _target(log_set: Manifest) -> Json:
    """Return the shared storage of a LogSet as the target of a restore."""
    storage = log_set["spec"]["sharedStorage"]
    if storage.get("s3"):
        s3 = {key: value for key, value in storage["s3"].items() if key != "s3RetentionPolicy"}
        return {"s3": s3}
    files = storage["fileSystem"]
    target: Json = {"path": files["path"]}
    volume = files.get("volume")
    if files.get("claim"):
        claim = names.shared_claim_name(log_set["metadata"]["name"])
        volume = {"persistentVolumeClaim": {"claimName": claim}}
    if volume:
        target |= {"mountPath": files["path"], "volume": volume}
    return {"fileSystem": target}


def _overlay(log_set: Manifest) -> Json:
    """Return what the Job's Pod has in common with log stores: where it runs, what it mounts."""
    spec = log_set["spec"]
    overlay, files = spec.get("overlay") or {}, spec["sharedStorage"].get("fileSystem") or {}
    mounts = bool(files) and not (files.get("claim") or files.get("volume"))
    wanted = (*_PLACING, *(_MOUNTING if mounts else ()))
    taken = {name: overlay[name] for name in wanted if overlay.get(name)}
    selected = spec.get("nodeSelector")
    return {**taken, "affinity": _on(selected, taken.get("affinity") or {})} if selected else taken


def _on(selector: Mapping[str, str], affinity: Mapping[str, Any]) -> Json:
    """Return an affinity that also requires the labels of a node selector."""
    asked = [
        {"key": key, "operator": "In", "values": [value]} for key, value in sorted(selector.items())
    ]
    nodes = affinity.get("nodeAffinity") or {}
    required = nodes.get(_REQUIRED) or {}
    terms = [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or []), *asked]}
        for term in required.get("nodeSelectorTerms") or [{}]
    ]
    both = {**nodes, _REQUIRED: {**required, "nodeSelectorTerms": terms}}
    return {**affinity, "nodeAffinity": both}


def _unowned(claim: Manifest, resource: Resource) -> Manifest:
    """Return a claim that its LogSet takes over later.

    Until then nobody owns it: an object has one controller, and that is going to be the LogSet.
    """
    metadata = claim["metadata"]
    marks = {names.LABEL_RESTORING: resource["metadata"].get("uid") or ""}
    kept = {**(metadata.get("annotations") or {}), names.ANNOTATION_KEEP: "true"}
    labels = {**metadata["labels"], **marks}
    return {**claim, "metadata": {**metadata, "labels": labels, "annotations": kept}}
