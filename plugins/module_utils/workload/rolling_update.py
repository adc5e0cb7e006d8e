# SPDX-License-Identifier: Apache-2.0
"""One step of the rolling update of a StatefulSet: replace the Pods that log shards can spare.

Before a Pod that serves is replaced by one of another image, its node pulls that image.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from ..api import names
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import Conflict, Refused
from ..clients.kubernetes.outcomes import Change
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from ..reporting.roll import RollStep
from ..reporting.rollout import partition_of
from . import roll as rolling
from .image_pull import ImagePull, PullState, job_of, needed_pull, pull_state_of

Json = dict[str, Any]
NextStores = Callable[[Json, Json, list[Json], rolling.Turn, datetime], tuple[tuple[str, ...], str]]
"""Chooses, for a resource, its workload and its Pods, whose turn it is now: their Pods, or none and
what is being waited for."""


def take_step(
    session: Session,
    resource: Json,
    next_stores: Mapping[str, NextStores],
    *,
    dry_run: bool,
) -> RollStep:
    """Replace the Pods of a set's StatefulSet that may be deleted now.

    Args:
        session: connection to the API server.
        resource: a LogSet or DNSet.
        next_stores: by kind, how stores are chosen where more has to be known than Pods tell.
        dry_run: decide, but delete nothing.

    Raises:
        KubeError: the API server refuses.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    place = {"namespace": metadata["namespace"], "name": names.base_name(kind, metadata["name"])}
    identity = {"apiVersion": "apps/v1", "kind": names.WORKLOADS[kind], "metadata": place}
    workload = Writer(session).get(identity)
    if workload is None:
        return RollStep()
    labels = names.selector_labels(kind, metadata["name"], metadata["namespace"])
    pods = {
        pod["metadata"]["name"]: pod
        for pod in Selection("v1", "Pod", metadata["namespace"], labels).list(session)
    }
    now, partition = datetime.now(timezone.utc), partition_of(resource)
    turn = rolling.next_turn(workload, pods.values(), now, partition)
    chosen, waiting = turn.replace or turn.candidates[:1], turn.waiting
    if chosen and kind in next_stores:
        chosen, waiting = next_stores[kind](resource, workload, list(pods.values()), turn, now)
    for name in chosen:
        pull = needed_pull(workload, pods[name], pods.values())
        state = _pulled(session, resource, workload, pull, dry_run=dry_run)
        if pull is not None and not state.is_over:
            return RollStep(turn.outdated, (), pull.title, fault=state.fault)
    for name in chosen:
        Writer(session, dry_run=dry_run).delete(_identity(pods[name]))
    return RollStep(turn.outdated, chosen, waiting, turn.seconds)


def _pulled(
    session: Session, resource: Json, workload: Json, pull: ImagePull | None, *, dry_run: bool
) -> PullState:
    """Let a node pull images, if it has not begun to; return how far it is.

    Raises:
        KubeError: the API server refuses, but for a Job that is not permitted: then nobody can
            tell, and the roll goes on without.
    """
    if pull is None or dry_run:
        return PullState(is_over=True)
    writer = Writer(session, owner=resource)
    wanted = job_of(workload, pull, (resource.get("spec") or {}).get("helperResources"))
    try:
        outcome = writer.create_once(wanted)
    except Refused:
        return PullState(is_over=True)
    except Conflict:
        return PullState()
    metadata = wanted["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    if outcome.change is Change.CREATED:
        for other in Selection("batch/v1", "Job", namespace, metadata["labels"]).list(session):
            if other["metadata"]["name"] != name:
                writer.delete(other)
    pods = Selection("v1", "Pod", namespace, {"job-name": name}).list(session)
    return pull_state_of(outcome.after or wanted, pods, time.time())


def _identity(pod: Mapping[str, Any]) -> Json:
    """Name this very Pod, not a later one of the same name."""
    identity = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": identity}
