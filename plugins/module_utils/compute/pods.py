# SPDX-License-Identifier: Apache-2.0
"""Compute nodes as Kubernetes shows them, and what is recorded on their Pods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.pods import is_ready, main_process, ready_at
from ..api.timestamps import timestamp
from ..api.types import Resource
from ..clients.matrixone.records import CNStoreRecord, Labels, WorkState
from ..reporting.pods import (
    closed_gates,
)
from ..workload.kruise import is_left_behind
from .drain import (
    Policy,
)
from .rendering import DEFAULT_DELAY_SECONDS, drain_timeout
from .scaling import (
    COST_OF_VICTIMS,
)
from .stores import CNStore, store_uuid
from .work_states import (
    ANNOTATION_CORDON,
)

ANNOTATION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
ANNOTATION_STATE: Final = "matrixorigin.io/cn-state"
ANNOTATION_DRAINING: Final = "matrixorigin.io/store-draining-start"
ANNOTATION_LOCKS: Final = "matrixorigin.io/lock-restart"
_LABEL_TEMPLATE: Final = "pod-template-hash"
_NEWS_SECONDS: Final = 120.0

Pod = Mapping[str, Any]


def policy_of(resource: Resource) -> Policy:
    """Return how a CNSet drains.

    Raises:
        InvalidSpec: the drain timeout is no duration.
    """
    spec = Fields("spec", resource.get("spec") or {})
    scaling = spec.table("scalingConfig")
    delay = scaling.number("minDelaySeconds")
    drains = scaling.flag("storeDrainEnabled")
    delay = DEFAULT_DELAY_SECONDS if delay is None else delay
    return Policy(drains, delay, drain_timeout(spec))


def is_managed(policy: Policy, stores: Iterable[CNStore]) -> bool:
    """Return whether HAKeeper has to learn anything about a set, now or when a node restarts."""
    return policy.drains or any(
        store.desired_labels
        or store.cordoned
        or store.gated
        or store.unheard_process
        or store.stray
        or store.marked == WorkState.DRAINING
        for store in stores
    )


def became_ready_lately(pods: Iterable[Pod], now: float) -> list[str]:
    """Return the Pods that became ready in the last minutes: MatrixOne may have just met them."""
    since = {pod["metadata"]["name"]: ready_at(pod) for pod in pods}
    return [name for name, at in since.items() if at is not None and at + _NEWS_SECONDS >= now]


def without_state(pods: Iterable[Pod], told: Mapping[str, str]) -> list[str]:
    """Return the Pods that serve, but whose work state was never heard.

    Args:
        pods: the Pods of a set.
        told: work states by Pod, as its status has them.
    """
    serving = [pod["metadata"]["name"] for pod in pods if ready_at(pod) is not None]
    return [name for name in serving if told.get(name, WorkState.UNKNOWN) == WorkState.UNKNOWN]


def recorded_states(resource: Mapping[str, Any]) -> dict[str, str]:
    """Return the work state by Pod, as the status of a CNSet has it."""
    listed = (resource.get("status") or {}).get("stores") or []
    return {str(one["podName"]): str(one.get("state") or WorkState.UNKNOWN) for one in listed}


def cn_store(
    pod: Pod, record: CNStoreRecord | None, *, asked: bool, unresponsive: bool = False
) -> CNStore:
    """Return what is known about a Pod and its store.

    Args:
        pod: the Pod.
        record: what HAKeeper knows; None if it does not know it or was not asked.
        asked: whether it could be asked.
        unresponsive: whether it does not answer, although HAKeeper hears it.
    """
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    process = main_process(pod)
    return CNStore(
        pod=metadata["name"],
        uuid=uuid_of(pod),
        ready=is_ready(pod),
        is_terminating=bool(metadata.get("deletionTimestamp")),
        cordoned=ANNOTATION_CORDON in annotations,
        created=metadata.get("creationTimestamp") or "",
        process=process,
        draining_since=_draining_since(metadata, annotations),
        asked_process=_asked(annotations.get(ANNOTATION_LOCKS), process),
        desired_labels=_labels(annotations.get(names.ANNOTATION_CN_LABEL)),
        record=record,
        asked=asked,
        cost=_whole(annotations.get(ANNOTATION_COST)),
        marked=annotations.get(ANNOTATION_STATE) or "",
        template=(metadata.get("labels") or {}).get(_LABEL_TEMPLATE) or "",
        gated=is_gated(pod),
        unheard_process=annotations.get(names.ANNOTATION_UNHEARD) or "",
        unresponsive=unresponsive,
        unanswered_process=annotations.get(names.ANNOTATION_UNANSWERED) or "",
        stray=is_left_behind(pod),
    )


def outside_pools(pods: Iterable[Pod]) -> list[Pod]:
    """Return the Pods that are the set's own: those of a CNPool have its labels, too.

    A pool creates them from the template of the set, decides which go, and sets their stores.
    """
    return [pod for pod in pods if names.LABEL_POOL not in (pod["metadata"].get("labels") or {})]


def gate_opened(now: str) -> dict[str, str]:
    """Return the condition of a Pod whose store HAKeeper knows.

    Args:
        now: the present, RFC 3339.
    """
    return {
        "type": names.CONDITION_CN_STORE,
        "status": "True",
        "reason": "CNStoreReady",
        "message": "HAKeeper knows the store",
        "lastTransitionTime": now,
    }


def is_gated(pod: Pod) -> bool:
    """Return whether a Pod is not ready before its store is known."""
    return names.CONDITION_CN_STORE in closed_gates(pod)


def uuid_of(pod: Pod) -> str:
    """Return the id that the start script gives the store of a Pod."""
    metadata = pod["metadata"]
    subdomain = (pod.get("spec") or {}).get("subdomain") or ""
    return store_uuid(f"{metadata['name']}.{subdomain}.{metadata['namespace']}.svc")


def _asked(text: str | None, process: str) -> str:
    """Return the process that was asked; another operator only wrote that one was."""
    return process if text == "true" else text or ""


def _draining_since(metadata: Mapping[str, Any], annotations: Mapping[str, str]) -> float | None:
    """Return when a drain began: when it was recorded, or when the Pod was deleted."""
    recorded = _unix_time(annotations.get(ANNOTATION_DRAINING))
    end = _unix_time(metadata.get("deletionTimestamp"))
    if recorded is not None or end is None:
        return recorded
    return end - float(metadata.get("deletionGracePeriodSeconds") or 0)


def _unix_time(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _labels(text: str | None) -> Labels:
    """Read the labels that rendering wrote on a Pod; other text holds none."""
    try:
        entries = json.loads(text or "null") or []
        return {str(entry["key"]): tuple(map(str, entry.get("values") or ())) for entry in entries}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def records(store: CNStore, *, leaves: bool, now: float) -> dict[str, str | None]:
    """Return the annotations of a Pod that are to change; None removes one.

    Args:
        store: the Pod and its store.
        leaves: whether it is a victim or has to be replaced.
        now: the present, Unix time.
    """
    if store.is_terminating:
        return {}
    changes = _faults(store)
    if leaves:
        if store.draining_since is None:
            changes[ANNOTATION_DRAINING] = timestamp(now)
        if store.cost != COST_OF_VICTIMS:
            changes[ANNOTATION_COST] = str(COST_OF_VICTIMS)
        return changes
    if store.draining_since is not None:
        changes[ANNOTATION_DRAINING] = None
    if store.cost == COST_OF_VICTIMS:
        changes[ANNOTATION_COST] = None
    if store.asked_process and not store.locks_asked:
        changes[ANNOTATION_LOCKS] = None
    return changes


def _faults(store: CNStore) -> dict[str, str | None]:
    """Return what changes of the record of the process that was silent, or answered no login."""
    changes: dict[str, str | None] = {}
    if (store.isolated or store.unresponsive) and not store.refused and store.process:
        changes[names.ANNOTATION_UNHEARD] = store.process
    elif store.unheard_process and not store.refused:
        changes[names.ANNOTATION_UNHEARD] = None
    if store.unresponsive and store.unanswered_process != store.process:
        changes[names.ANNOTATION_UNANSWERED] = store.process
    elif store.unanswered_process not in {"", store.process}:
        changes[names.ANNOTATION_UNANSWERED] = None
    return changes
