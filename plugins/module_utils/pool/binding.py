# SPDX-License-Identifier: Apache-2.0
"""The conditional writes by which a Pod changes hands.

Everything else follows from them: whoever was interrupted afterwards finds on the Pod what is
still to be recorded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..api.timestamps import timestamp
from . import keys
from .facts import ClaimFacts, Phase, PodFacts
from .writes import PodWrite


def _at(now: float) -> str:
    """Return a time that is not before the present: waits that begin with it are not cut short."""
    return timestamp(math.ceil(now))


def bind(pod: PodFacts, claim: ClaimFacts, now: float) -> PodWrite:
    """Return the write that gives a Pod to a claim."""
    extra = {
        key: value
        for key, value in claim.pod_labels.items()
        if not keys.is_reserved(key) and key not in pod.labels
    }
    labels: dict[str, str | None] = {
        **extra,
        keys.LABEL_PHASE: Phase.BOUND.value,
        keys.LABEL_CLAIMED_BY: claim.name,
        keys.LABEL_CLAIM_SET: claim.labels.get(keys.LABEL_CLAIM_SET) or None,
        keys.LABEL_OWNER: claim.owner or None,
    }
    annotations = {
        keys.ANNOTATION_CLAIM_UID: claim.uid,
        keys.ANNOTATION_CLAIMED_AT: _at(now),
        keys.ANNOTATION_CLAIM_LABELS: ",".join(sorted(extra)) or None,
        keys.ANNOTATION_RETURNED_AT: None,
        keys.ANNOTATION_RECLAIMED_AT: None,
        keys.ANNOTATION_DRAINING_SINCE: None,
    }
    why = f"bound to CNClaim {claim.name}"
    return PodWrite(pod.name, pod.uid, pod.version, labels, annotations, why, "Bound")


def release(
    pod: PodFacts, claim: ClaimFacts | None, now: float, why: str, *, drains: bool
) -> PodWrite:
    """Return the write that takes a Pod from its claim and lets it drain.

    Args:
        pod: the Pod.
        claim: its claim, if that still exists.
        now: the present.
        why: for an Event.
        drains: whether HAKeeper has its store as Draining already.
    """
    # The predecessor did not record which labels it had added.
    added = set(pod.claim_labels)
    if claim is not None and not pod.claim_uid:
        added.update(key for key in claim.pod_labels if not keys.is_reserved(key))
    labels: dict[str, str | None] = dict.fromkeys(sorted(added & set(pod.labels)))
    labels |= {
        keys.LABEL_PHASE: Phase.DRAINING.value,
        keys.LABEL_CLAIMED_BY: None,
        keys.LABEL_CLAIM_SET: None,
        keys.LABEL_OWNER: None,
    }
    if pod.owner:
        labels[keys.LABEL_LAST_OWNER] = pod.owner
    annotations = {
        keys.ANNOTATION_CLAIM_UID: None,
        keys.ANNOTATION_CLAIMED_AT: None,
        keys.ANNOTATION_CLAIM_LABELS: None,
        keys.ANNOTATION_RETURNED_AT: None,
        keys.ANNOTATION_RECLAIMED_AT: _at(now),
        keys.ANNOTATION_DRAINING_SINCE: _at(now) if drains else None,
    }
    return PodWrite(pod.name, pod.uid, pod.version, labels, annotations, why, "Released")


def to_idle(pod: PodFacts, now: float) -> PodWrite:
    """Return the write that makes a new or drained Pod available."""
    annotations = {
        keys.ANNOTATION_RECLAIMED_AT: None,
        keys.ANNOTATION_DRAINING_SINCE: None,
        keys.ANNOTATION_RETURNED_AT: _at(now) if pod.phase is Phase.DRAINING else None,
    }
    return _phase(pod, Phase.IDLE, annotations, "available")


def terminate(pod: PodFacts, why: str, reason: str = "") -> PodWrite:
    """Return the write after which no claim gets a Pod any more, before it is deleted."""
    return _phase(pod, Phase.TERMINATING, {}, why, reason)


def note(pod: PodFacts, annotations: Mapping[str, float | None], why: str) -> PodWrite:
    """Return a write of times on a Pod that stays in its phase."""
    texts = {key: None if at is None else _at(at) for key, at in annotations.items()}
    return PodWrite(pod.name, pod.uid, pod.version, {}, texts, why)


def _phase(
    pod: PodFacts,
    phase: Phase,
    annotations: Mapping[str, str | None],
    why: str,
    reason: str = "",
) -> PodWrite:
    labels = {keys.LABEL_PHASE: phase.value}
    return PodWrite(pod.name, pod.uid, pod.version, labels, annotations, why, reason)
