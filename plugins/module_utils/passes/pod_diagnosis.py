# SPDX-License-Identifier: Apache-2.0
"""Read why Pods of a set do not exist or do not start; nothing is asked while all of them do."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from ..api.pods import is_ready, is_scheduled
from ..api.timestamps import unix_time
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import ApiError
from ..clients.kubernetes.kinds import collection_path
from ..clients.kubernetes.lists import items_of
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from ..reporting import pod_problems
from ..reporting.pod_problems import ANY_POD, PodProblems
from ..workload.component import Reference
from .observing import fetch

Json = Mapping[str, Any]

_PATIENCE_SECONDS: Final = 3.0
"""Controllers create Pods, and kubelets start them, within this time unless something is wrong."""
_ENDED: Final = ("Succeeded", "Failed")
_MOST_ASKED: Final = 3
"""Pods and claims whose Events are read in a pass; the others mostly wait for the same."""


def observe(session: Session, references: Mapping[str, Reference]) -> dict[str, Any]:
    """Return what references lead to, by label, as a task's result may hold it.

    Args:
        session: connection to the API server.
        references: of objects, and of what keeps the Pods of a workload from starting
            (``explains``).

    Raises:
        KubeError: something cannot be read.
    """
    found = {
        label: fetch(session, label, reference)
        for label, reference in references.items()
        if "explains" not in reference
    }
    for label, reference in references.items():
        if explained := reference.get("explains"):
            workload, pods = found[explained["workload"]], found[explained["pods"]]
            found[label] = find_problems(session, workload, pods).as_result()
    return found


def find_problems(session: Session, workload: Json | None, pods: Sequence[Json]) -> PodProblems:
    """Return what keeps the Pods of a workload from existing or from starting.

    Args:
        session: connection to the API server.
        workload: the live StatefulSet, Deployment or Job; None if there is none.
        pods: the live Pods.

    Raises:
        KubeError: there is no answer, or another error than that it may not be read.
    """
    if workload is None:
        return PodProblems()
    now = time.time()
    if workload["kind"] == "Job":
        pods = [pod for pod in pods if _is_of_job(pod, workload)]
    try:
        return PodProblems(
            not_created=_not_created(session, workload, pods, now),
            not_started=dict(_not_started(session, pods, now)),
        )
    except ApiError as error:
        # An operator whose permissions are those of an earlier release cannot tell more.
        if error.status == HTTPStatus.FORBIDDEN:
            return PodProblems()
        raise


def _not_created(
    session: Session, workload: Json, pods: Sequence[Json], now: float
) -> dict[str, str]:
    if workload["kind"] == "Deployment":
        return _refused_by_deployment(session, workload)
    if workload["kind"] == "Job":
        return _refused_by_job(session, workload, pods, now)
    present = {pod["metadata"]["name"] for pod in pods}
    missing = [name for name in _names_of_pods(workload) if name not in present]
    changed = _changed_at(workload)
    if not missing or now < changed + _PATIENCE_SECONDS:
        return {}
    return pod_problems.refused_pods(_events_of(session, workload), missing, changed)


def _names_of_pods(workload: Json) -> Iterator[str]:
    spec, name = workload["spec"], workload["metadata"]["name"]
    first = int((spec.get("ordinals") or {}).get("start") or 0)
    count = spec.get("replicas")
    for ordinal in range(first, first + (1 if count is None else int(count))):
        yield f"{name}-{ordinal}"


def _changed_at(workload: Json) -> float:
    """Return when the workload was created, or changed by this collection, Unix time."""
    metadata = workload["metadata"]
    applied = [entry.get("time") for entry in metadata.get("managedFields") or []]
    return max(unix_time(moment) for moment in [metadata.get("creationTimestamp"), *applied])


def _refused_by_deployment(session: Session, workload: Json) -> dict[str, str]:
    """Return why a Deployment gets no Pods; its condition tells that, but keeps the first cause."""
    first = pod_problems.replica_failure(workload)
    if not first:
        return {}
    metadata = workload["metadata"]
    labels = workload["spec"]["selector"]["matchLabels"]
    chosen = Selection("apps/v1", "ReplicaSet", metadata["namespace"], labels, {}, metadata["uid"])
    lacking = [one for one in chosen.list(session) if _lacks_pods(one)]
    events = [event for one in lacking[:_MOST_ASKED] for event in _events_of(session, one)]
    cause = pod_problems.refused_by_replica_set(events)
    return {ANY_POD: cause or first}


def _refused_by_job(
    session: Session, job: Json, pods: Sequence[Json], now: float
) -> dict[str, str]:
    """Return why a Job gets no Pod; what was said before its last one failed is outdated."""
    conditions = (job.get("status") or {}).get("conditions") or []
    is_done = any(
        condition["type"] == "Complete" and condition["status"] == "True"
        for condition in conditions
    )
    is_suspended = bool((job.get("spec") or {}).get("suspend"))
    lives = any((pod.get("status") or {}).get("phase") not in _ENDED for pod in pods)
    since = max(unix_time(one["metadata"].get("creationTimestamp")) for one in [job, *pods])
    if is_done or is_suspended or lives or now < since + _PATIENCE_SECONDS:
        return {}
    events = _events_of(session, job)
    cause = pod_problems.refused_by_replica_set(
        event for event in events if pod_problems.event_time(event) >= since
    )
    return {ANY_POD: cause} if cause else {}


def _is_of_job(pod: Json, job: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return bool(labels.get("job-name") == job["metadata"]["name"])


def _lacks_pods(replica_set: Json) -> bool:
    has = (replica_set.get("status") or {}).get("replicas") or 0
    return int((replica_set.get("spec") or {}).get("replicas") or 0) > int(has)


def _not_started(session: Session, pods: Sequence[Json], now: float) -> Iterator[tuple[str, str]]:
    """Yield the Pods that wait for a volume or a sandbox, and what it lacks."""
    waiting = [pod for pod in pods if _waits(pod, now)]
    for pod in waiting[:_MOST_ASKED]:
        if is_scheduled(pod):
            cause = pod_problems.unmounted(_events_of(session, pod))
        else:
            cause = "; ".join(_pending_claims(session, pod))
        if cause:
            yield pod["metadata"]["name"], cause


def _waits(pod: Json, now: float) -> bool:
    """Tell whether no container of a Pod has begun for a while, and it is to stay."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if metadata.get("deletionTimestamp") or is_ready(pod):
        return False
    statuses = [*(status.get("initContainerStatuses") or []), *_statuses(status)]
    reasons = {(((one.get("state") or {}).get("waiting")) or {}).get("reason") for one in statuses}
    begun = bool(reasons - {"ContainerCreating", "PodInitializing"})
    return not begun and unix_time(metadata.get("creationTimestamp")) + _PATIENCE_SECONDS <= now


def _statuses(status: Json) -> Iterable[Json]:
    return status.get("containerStatuses") or []


def _pending_claims(session: Session, pod: Json) -> Iterator[str]:
    """Yield why claims that a Pod mounts have no volume."""
    volumes = (pod.get("spec") or {}).get("volumes") or []
    for volume in volumes:
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if "ephemeral" in volume:
            name = f"{pod['metadata']['name']}-{volume['name']}"
        if not name:
            continue
        place = {"name": name, "namespace": pod["metadata"]["namespace"]}
        identity = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": place}
        claim = Writer(session).get(identity)
        if claim is not None and (claim.get("status") or {}).get("phase") == "Pending":
            cause = pod_problems.unprovisioned(name, _events_of(session, claim))
            if cause:
                yield cause


def _events_of(session: Session, subject: Json) -> list[dict[str, Any]]:
    """Return the Events about this very object."""
    metadata = subject["metadata"]
    path = collection_path(session, "v1", "Event", metadata["namespace"])
    query = {"fieldSelector": f"involvedObject.uid={metadata['uid']}", "limit": "500"}
    return items_of(session.request("GET", path, attempt="list Events", query=query), "list Events")
