# SPDX-License-Identifier: Apache-2.0
"""How many claims a claim set has, and which are created and deleted.

What belongs to a claim set follows from owner references, never from its selector: one that does
not select its own template would create claims for ever. Names of claims follow from the set's uid
and a number, so that whoever decides from a stale list creates none twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..api import names
from . import keys
from .facts import ClaimFacts, ClaimPhase, ClaimSetFacts, PodFacts
from .round import is_lost
from .writes import ClaimCreate, ClaimDelete, ClaimSetPlan, ClaimWrite, Write

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_ID_LENGTH: Final = 5
_PHASES: Final = {
    ClaimPhase.PENDING.value: 0,
    ClaimPhase.LOST.value: 1,
    ClaimPhase.OUTDATED.value: 2,
    ClaimPhase.BOUND.value: 3,
}


def plan_claim_set(
    claim_set: ClaimSetFacts,
    claims: Iterable[ClaimFacts],
    pods: Mapping[str, PodFacts],
    *,
    fresh: bool,
) -> ClaimSetPlan:
    """Return what a pass of a claim set does.

    Args:
        claim_set: the claim set.
        claims: all of the namespace.
        pods: Pods of the namespace by name.
        fresh: whether the lists come from the API server itself.
    """
    everyone = list(claims)
    own = [claim for claim in everyone if claim.controller == claim_set.uid]
    live = [claim for claim in own if not claim.deleting]
    if claim_set.deleting:
        leaving = [_deleted(claim, "its claim set is being deleted") for claim in live]
        return ClaimSetPlan(
            writes=tuple(leaving), status=status_counts(claim_set, live), finished=not own and fresh
        )
    writes: list[Write] = [_adopted(claim, claim_set) for claim in _orphans(claim_set, everyone)]
    lost = [claim for claim in live if is_lost(claim)]
    owned = [claim for claim in live if not is_lost(claim)]
    missing = target(claim_set.replicas, owned) - len(owned)
    if missing > 0:
        taken = {claim.name for claim in everyone}
        writes += [ClaimCreate(one) for one in new_claims(claim_set, missing, taken)]
    leaving = [_deleted(claim, "its Pod is lost") for claim in lost]
    leaving += [
        _deleted(claim, "more than spec.replicas")
        for claim in claims_to_delete(claim_set.replicas, owned, pods, -missing)
    ]
    if leaving and not fresh:
        return ClaimSetPlan(wants_fresh=True, status=status_counts(claim_set, live))
    return ClaimSetPlan(writes=(*writes, *leaving), status=status_counts(claim_set, live))


def target(replicas: int, owned: Sequence[ClaimFacts]) -> int:
    """Return how many claims there should be: one more while outdated ones are replaced."""
    updated = sum(claim.phase == ClaimPhase.BOUND for claim in owned)
    outdated = sum(claim.phase == ClaimPhase.OUTDATED for claim in owned)
    rolls = updated + outdated == replicas and updated < replicas
    return replicas + 1 if rolls else replicas


def claims_to_delete(
    replicas: int, owned: Sequence[ClaimFacts], pods: Mapping[str, PodFacts], count: int
) -> list[ClaimFacts]:
    """Return the claims that are deleted.

    Those that migrate stay until that is over, unless all leave. Others do not leave in their
    place, if that takes more up-to-date ones than are too many.
    """
    if count <= 0:
        return []
    ordered = sorted(owned, key=lambda claim: deletion_order(claim, pods))
    if not replicas:
        return ordered
    spare = max(0, sum(claim.phase == ClaimPhase.BOUND for claim in owned) - replicas)
    found: list[ClaimFacts] = []
    for claim in ordered:
        bound = claim.phase == ClaimPhase.BOUND
        if len(found) == count or claim.source or (bound and not spare):
            continue
        spare -= bound
        found.append(claim)
    return found


def deletion_order(claim: ClaimFacts, pods: Mapping[str, PodFacts]) -> tuple[Any, ...]:
    """Return by what claims are deleted in order: first those that are of least use."""
    phase = _PHASES.get(claim.phase, 0)
    if not claim.pod:
        return (0, phase, 0, 0, 0, 0, -claim.created, claim.name)
    pod = pods.get(claim.pod)
    if pod is None:
        return (1, phase, 0, 0, 0, 0, -claim.created, claim.name)
    running = 2 if pod.running else int(pod.ended)
    scheduled = bool(pod.node)
    return (1, phase, scheduled, running, pod.ready, pod.cost, -claim.created, claim.name)


def new_claims(claim_set: ClaimSetFacts, count: int, taken: Iterable[str]) -> list[dict[str, Any]]:
    """Return manifests of new claims, under the first names that are not taken."""
    used = set(taken)
    found: list[dict[str, Any]] = []
    number = 0
    while len(found) < count:
        identifier = instance_id(claim_set.uid, number)
        if f"{claim_set.name}-{identifier}" not in used:
            found.append(claim_manifest(claim_set, identifier))
        number += 1
    return found


def instance_id(uid: str, number: int) -> str:
    """Return five characters for a claim of a claim set."""
    value = int.from_bytes(hashlib.sha256(f"{uid}/{number}".encode()).digest()[:8], "big")
    text = ""
    for _character in range(_ID_LENGTH):
        value, index = divmod(value, len(_ALPHABET))
        text += _ALPHABET[index]
    return text


def claim_manifest(claim_set: ClaimSetFacts, identifier: str) -> dict[str, Any]:
    """Return a claim of a claim set; its owner is named after the set, if the template names none.

    Which Pod it has is decided for each claim: a template cannot name one.
    """
    metadata = claim_set.template.get("metadata") or {}
    spec = dict(claim_set.template.get("spec") or {})
    for field in ("podName", "nodeName", "sourcePod"):
        spec.pop(field, None)
    spec["ownerName"] = spec.get("ownerName") or claim_set.name
    labels = {
        **(metadata.get("labels") or {}),
        keys.LABEL_CLAIM_SET: claim_set.name,
        keys.LABEL_INSTANCE_ID: identifier,
    }
    annotations = metadata.get("annotations") or {}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "CNClaim",
        "metadata": {
            "name": f"{claim_set.name}-{identifier}",
            "labels": labels,
            **({"annotations": dict(annotations)} if annotations else {}),
            "ownerReferences": [owner_reference(claim_set)],
        },
        "spec": spec,
    }


def owner_reference(claim_set: ClaimSetFacts) -> dict[str, Any]:
    """Return the reference by which a claim belongs to a claim set."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": "CNClaimSet",
        "name": claim_set.name,
        "uid": claim_set.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def status_counts(claim_set: ClaimSetFacts, live: Sequence[ClaimFacts]) -> dict[str, Any]:
    """Return what the status of a claim set counts; the selector is that of an autoscaler."""
    owned = sorted((one for one in live if not is_lost(one)), key=lambda one: one.name)
    selector = f"{keys.LABEL_CLAIM_SET}={claim_set.name},{keys.LABEL_PHASE}=Bound"
    return {
        "replicas": len(owned),
        "readyReplicas": sum(claim.ready for claim in owned),
        "claims": [_summary(claim) for claim in owned],
        "labelSelector": selector,
    }


def _summary(claim: ClaimFacts) -> dict[str, Any]:
    """Return the status of a claim as a claim set repeats it, without its conditions."""
    status = {key: value for key, value in claim.status.items() if key != "conditions"}
    return {**status, "phase": claim.phase or ClaimPhase.PENDING.value}


def _orphans(claim_set: ClaimSetFacts, claims: Iterable[ClaimFacts]) -> list[ClaimFacts]:
    """Return claims of this set that nothing controls, e.g. since they were restored."""
    return [
        claim
        for claim in claims
        if not claim.controller
        and not claim.deleting
        and claim.labels.get(keys.LABEL_CLAIM_SET) == claim_set.name
        and keys.LABEL_INSTANCE_ID in claim.labels
    ]


def _adopted(claim: ClaimFacts, claim_set: ClaimSetFacts) -> ClaimWrite:
    references = (owner_reference(claim_set),)
    return ClaimWrite(
        claim.name, claim.uid, claim.version, owner_references=references, why="adopted"
    )


def _deleted(claim: ClaimFacts, why: str) -> ClaimDelete:
    return ClaimDelete(claim.name, claim.uid, claim.version, why)
