# SPDX-License-Identifier: Apache-2.0
"""Facts from Kubernetes objects; tolerant of what is missing and of what other operators wrote.

A field of a wrong type reads like an absent one: the schema refuses it at admission, and one object
must not hold up the others of its pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ..api import durations, names
from ..api.errors import InvalidSpec
from ..api.fields import Fields, as_table
from ..api.pods import is_ready
from ..clients.matrixone.records import Labels
from ..compute.drain import Policy
from ..compute.pods import ANNOTATION_COST, is_gated
from ..compute.rendering import DEFAULT_DELAY_SECONDS, drain_timeout
from . import keys
from .facts import ClaimFacts, ClaimSetFacts, IdleWindow, Phase, Placement, PodFacts, PoolFacts

Json = Mapping[str, Any]
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ENDED = frozenset({"Failed", "Succeeded", "Unknown"})
_MINUTES_OF_DAY = 24 * 60


def pod_facts(pod: Json) -> PodFacts:
    """Return what is known of a Pod."""
    metadata = pod["metadata"]
    labels, notes = _texts(metadata.get("labels")), _texts(metadata.get("annotations"))
    phase = labels.get(keys.LABEL_PHASE, "")
    kept = notes.get(keys.ANNOTATION_CLAIM_LABELS, "")
    state = (pod.get("status") or {}).get("phase") or ""
    return PodFacts(
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        version=str(metadata.get("resourceVersion") or ""),
        pool=labels.get(keys.LABEL_POOL, ""),
        generation=labels.get(names.LABEL_INSTANCE, ""),
        phase=Phase(phase) if phase in set(Phase) else Phase.UNKNOWN,
        claim=labels.get(keys.LABEL_CLAIMED_BY, ""),
        claim_uid=notes.get(keys.ANNOTATION_CLAIM_UID, ""),
        claim_set=labels.get(keys.LABEL_CLAIM_SET, ""),
        claim_labels=tuple(key for key in kept.split(",") if key),
        claimed_at=_time(notes.get(keys.ANNOTATION_CLAIMED_AT)),
        owner=labels.get(keys.LABEL_OWNER, ""),
        last_owner=labels.get(keys.LABEL_LAST_OWNER, ""),
        reclaimed_at=_time(notes.get(keys.ANNOTATION_RECLAIMED_AT)),
        draining_since=_time(notes.get(keys.ANNOTATION_DRAINING_SINCE)),
        returned_at=_time(notes.get(keys.ANNOTATION_RETURNED_AT)),
        locks_asked_at=_time(notes.get(keys.ANNOTATION_LOCKS_ASKED_AT)),
        delete_on_reclaim=keys.ANNOTATION_DELETE_ON_RECLAIM in notes,
        direct=labels.get(keys.LABEL_DIRECT) == "y",
        ready=is_ready(pod),
        gated=is_gated(pod),
        deleting=bool(metadata.get("deletionTimestamp")),
        deleted_at=_deleted_at(metadata),
        ended=state in _ENDED,
        running=state == "Running",
        node=str((pod.get("spec") or {}).get("nodeName") or ""),
        created=_time(metadata.get("creationTimestamp")) or 0.0,
        cost=_number(notes.get(ANNOTATION_COST)),
        labels=labels,
    )


def _deleted_at(metadata: Json) -> float:
    """Return when a deletion began; its timestamp is when it ends at the latest."""
    grace = _number(metadata.get("deletionGracePeriodSeconds"))
    return (_time(metadata.get("deletionTimestamp")) or 0.0) - grace


def claim_facts(claim: Json) -> ClaimFacts:
    """Return what is known of a claim."""
    metadata, spec = claim["metadata"], as_table(claim.get("spec"))
    source = as_table(spec.get("sourcePod"))
    selector = spec.get("selector")
    return ClaimFacts(
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        version=str(metadata.get("resourceVersion") or ""),
        created=_time(metadata.get("creationTimestamp")) or 0.0,
        generation=_number(metadata.get("generation")),
        deleting=bool(metadata.get("deletionTimestamp")),
        selector=selector if isinstance(selector, Mapping) else None,
        cn_labels=cn_labels(spec.get("cnLabels")),
        owner=_text(spec.get("ownerName")),
        pod_labels=_texts(spec.get("additionalPodLabels")),
        priority=_number(spec.get("priority")),
        pool=_text(spec.get("poolName")),
        pod=_text(spec.get("podName")),
        node=_text(spec.get("nodeName")),
        source=_text(source.get("podName")),
        labels=_texts(metadata.get("labels")),
        controller=controller_of(metadata),
        status=as_table(claim.get("status")),
    )


def pool_facts(pool: Json, generation: str = "") -> PoolFacts:
    """Return what a pool asks for.

    Args:
        pool: the CNPool.
        generation: name of the CNSet that its template leads to.
    """
    metadata, spec = pool["metadata"], as_table(pool.get("spec"))
    strategy = as_table(spec.get("strategy"))
    scaling = as_table(strategy.get("scaleStrategy"))
    update = as_table(strategy.get("updateStrategy"))
    quotas, placement = as_table(spec.get("quotas")), spec.get("placement")
    most, least = scaling.get("maxPods"), scaling.get("maxIdle")
    return PoolFacts(
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        deleting=bool(metadata.get("deletionTimestamp")),
        pod_labels=_texts(spec.get("podLabels")),
        generation=generation,
        max_idle=_number(least),
        max_idle_percent=_number(scaling.get("maxIdlePercent")),
        windows=tuple(_windows(scaling.get("schedule"))),
        max_pods=None if most is None else _number(most),
        reclaim_timeout=_seconds(update, "reclaimTimeout") or 0,
        warm_seconds=_seconds(update, "lastOwnerTimeout"),
        drain=drain_policy(as_table(spec.get("template"))),
        placement=Placement(placement) if placement in set(Placement) else None,
        quota=None if quotas.get("default") is None else _number(quotas["default"]),
        quotas={key: _number(value) for key, value in as_table(quotas.get("owners")).items()},
    )


def claim_set_facts(claim_set: Json) -> ClaimSetFacts:
    """Return what a claim set asks for."""
    metadata, spec = claim_set["metadata"], as_table(claim_set.get("spec"))
    return ClaimSetFacts(
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        replicas=max(0, _number(spec.get("replicas"))),
        template=as_table(spec.get("template")),
        deleting=bool(metadata.get("deletionTimestamp")),
        selector=spec.get("selector"),
    )


def drain_policy(template: Json) -> Policy:
    """Return how the Pods of a pool drain: they always do."""
    scaling = dict(as_table(template.get("scalingConfig")))
    drained = {**template, "scalingConfig": {**scaling, "storeDrainEnabled": True}}
    delay = scaling.get("minDelaySeconds")
    try:
        timeout = drain_timeout(Fields("spec.template", drained))
    except InvalidSpec:
        timeout = drain_timeout(Fields("", {"scalingConfig": {"storeDrainEnabled": True}}))
    return Policy(True, DEFAULT_DELAY_SECONDS if delay is None else _number(delay), timeout)


def cn_labels(entries: object) -> Labels:
    """Return the labels of a store from a list of keys and values; the last of a key counts."""
    if not isinstance(entries, list):
        return {}
    tables = [entry for entry in entries if isinstance(entry, Mapping) and entry.get("key")]
    return {str(table["key"]): tuple(map(str, table.get("values") or ())) for table in tables}


def controller_of(metadata: Json) -> str:
    """Return the uid of the object that controls this one; empty if there is none."""
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference.get("uid") or "")
    return ""


def _windows(entries: object) -> Iterable[IdleWindow]:
    """Yield the windows that can be read: ``{days, from, to, maxIdle}``, times as ``HH:MM``."""
    for entry in entries if isinstance(entries, list) else ():
        begin, end = _minutes(entry.get("from")), _minutes(entry.get("to"))
        if begin is None or end is None:
            continue
        named = entry.get("days") or ()
        days = frozenset(_DAYS.index(day) for day in named if day in _DAYS)
        if days or not named:
            yield IdleWindow(days, begin, end, _number(entry.get("maxIdle")))


def _minutes(text: object) -> int | None:
    hours, _colon, minutes = _text(text).partition(":")
    if not (hours.isdigit() and minutes.isdigit()):
        return None
    total = int(hours) * 60 + int(minutes)
    return total if total <= _MINUTES_OF_DAY else None


def _seconds(table: Json, name: str) -> int | None:
    if table.get(name) is None:
        return None
    try:
        return durations.seconds(Fields("", table), name)
    except InvalidSpec:
        return None


def _time(text: object) -> float | None:
    try:
        return datetime.fromisoformat(_text(text)).timestamp()
    except ValueError:
        return None


def _number(value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        return 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(one) for key, one in as_table(value).items() if one is not None}
