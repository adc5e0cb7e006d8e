# SPDX-License-Identifier: Apache-2.0
"""What becomes of each claim: which Pod it names, and which one is bound to it.

A claim gets a Pod in two conditional writes. The claim names the Pod first, so that it cannot name
two; then the Pod is bound to the claim, which commits it. Whoever is interrupted in between leaves
a claim that names an idle Pod, which the next round binds, or an unavailable one, which the next
round clears.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from . import keys
from .binding import bind
from .draining import release_pod
from .facts import ClaimFacts, Phase, PodFacts
from .responsibility import first_match
from .round import Round, is_lost
from .writes import ClaimWrite

MIGRATION_DELAY_SECONDS: Final = 15
"""Proxies must have learned of the target before sessions leave the source."""
_POLL_SECONDS: Final = 5.0


def advance_claims(work: Round, claims: Iterable[ClaimFacts]) -> None:
    """Plan what to do for claims that have or name a Pod, in the order in which they are served.

    Args:
        work: the round.
        claims: those that the pool is responsible for.
    """
    for claim in claims:
        if claim.deleting:
            continue
        held = work.held.get(claim.name, ())
        named = next((pod for pod in held if pod.name == claim.pod), None)
        if named is not None:
            _served(work, claim, named, held)
        elif held:
            _elsewhere(work, claim, held)
        elif claim.pod:
            _not_held(work, claim)
        elif not is_lost(claim):
            _without(work, claim)


def point_at(work: Round, claim: ClaimFacts, pod: PodFacts | None, why: str) -> None:
    """Let a claim name a Pod that it has or is to have, or none; any migration is over."""
    spec: dict[str, Any] = {"podName": None, "nodeName": None, "sourcePod": None}
    labels: dict[str, str | None] = {}
    if pod is not None:
        spec |= {"podName": pod.name, "nodeName": pod.node or None, "poolName": pod.pool or None}
        labels = {keys.LABEL_POOL: pod.pool or None}
        work.chosen.add(pod.name)
    _write(work, claim, spec, labels, why)


def is_available(work: Round, pod: PodFacts | None) -> bool:
    """Return whether a Pod may be bound now, as far as its own facts go."""
    return (
        pod is not None
        and pod.phase is Phase.IDLE
        and not pod.claim
        and pod.live
        and pod.ready
        and work.snapshot.store(pod.name).clean
    )


def _served(work: Round, claim: ClaimFacts, named: PodFacts, held: Sequence[PodFacts]) -> None:
    """The claim has the Pod that it names: complete its record, end migrations, release others."""
    spec: dict[str, Any] = {}
    for field, present, value in (
        ("nodeName", claim.node, named.node),
        ("poolName", claim.pool, named.pool),
    ):
        if present != value:
            spec[field] = value or None
    label = claim.labels.get(keys.LABEL_POOL, "") != named.pool
    labels = {keys.LABEL_POOL: named.pool or None} if label else {}
    migrates = _migrate(work, claim, named, held)
    if claim.source and not migrates:
        spec["sourcePod"] = None
    for pod in held:
        if pod is not named and not (migrates and pod.name == claim.source):
            release_pod(work, pod, f"CNClaim {claim.name} has {named.name}")
    if spec or labels:
        _write(work, claim, spec, labels, "recorded")


def _migrate(work: Round, claim: ClaimFacts, target: PodFacts, held: Sequence[PodFacts]) -> bool:
    """Release the source of a migration when it is time; return whether it is still going on."""
    source = work.snapshot.pods.get(claim.source)
    if source is None or source is target or not source.live:
        return False
    if source in held:
        since = target.claimed_at or 0.0
        left = since + MIGRATION_DELAY_SECONDS - work.snapshot.now
        serves = work.snapshot.store(target.name).serves(claim.cn_labels)
        if left <= 0 and serves:
            release_pod(work, source, f"CNClaim {claim.name} has moved to {target.name}")
        else:
            work.wake(left if left > 0 else _POLL_SECONDS)
        return True
    drains = source.phase is Phase.DRAINING
    if drains:
        work.wake(_POLL_SECONDS)
    return drains


def _elsewhere(work: Round, claim: ClaimFacts, held: Sequence[PodFacts]) -> None:
    """The claim has a Pod, but names another one, or none.

    An available one is the target of a migration. Otherwise there is nothing to migrate to: the
    claim goes on with what it has, and its target is never taken from somebody else.
    """
    present = primary(claim, held)
    target = work.snapshot.pods.get(claim.pod)
    for pod in held:
        if pod is not present:
            release_pod(work, pod, f"CNClaim {claim.name} has {present.name}")
    if not _is_possible_target(work, target):
        point_at(work, claim, present, "goes on with its Pod")
    elif claim.source != present.name:
        spec = {"sourcePod": {"podName": present.name, "nodeName": present.node}}
        _write(work, claim, spec, {}, "moves")
    elif target is not None and len(held) == 1:
        _bind(work, claim, target)


def _is_possible_target(work: Round, pod: PodFacts | None) -> bool:
    unknown = pod is not None and work.snapshot.store(pod.name).known is None
    if pod is not None and unknown:
        return pod.phase is Phase.IDLE and pod.live and not pod.claim
    return is_available(work, pod)


def primary(claim: ClaimFacts, held: Sequence[PodFacts]) -> PodFacts:
    """Return the Pod that a claim goes on with: the recorded one, else the one it got first."""
    return min(
        held,
        key=lambda pod: (
            pod.name != claim.recorded_pod,
            pod.name != claim.source,
            pod.claimed_at or 0.0,
            pod.created,
            pod.name,
        ),
    )


def _not_held(work: Round, claim: ClaimFacts) -> None:
    """The claim names a Pod that is not bound to it."""
    snapshot = work.snapshot
    named = snapshot.pods.get(claim.pod)
    lost = claim.ready and claim.recorded_pod == claim.pod
    if is_lost(claim):
        point_at(work, claim, None, "its Pod is lost")
    elif not lost and not snapshot.pool.deleting and _is_possible_target(work, named):
        work.unbound.append(claim)
        if named is not None:
            _bind(work, claim, named)
    elif not lost:
        point_at(work, claim, None, f"Pod {claim.pod} is not available")
    elif snapshot.pool.deleting and first_match(claim, snapshot.pools):
        _leave_pool(work, claim)
    else:
        work.lost[claim.name] = _how_lost(claim, named)


def _without(work: Round, claim: ClaimFacts) -> None:
    """The claim needs a Pod, if its pool stays."""
    snapshot = work.snapshot
    if not snapshot.pool.deleting:
        work.unbound.append(claim)
    elif first_match(claim, snapshot.pools):
        _leave_pool(work, claim)
    elif claim.ready:
        work.lost[claim.name] = "its pool is deleted"
    elif claim.pool == snapshot.pool.name:
        _write(work, claim, {"poolName": None}, {keys.LABEL_POOL: None}, "its pool is deleted")


def _leave_pool(work: Round, claim: ClaimFacts) -> None:
    spec = dict.fromkeys(("podName", "nodeName", "poolName", "sourcePod"))
    _write(work, claim, spec, {keys.LABEL_POOL: None}, "its pool is deleted")


def _how_lost(claim: ClaimFacts, pod: PodFacts | None) -> str:
    if pod is None:
        return f"Pod {claim.pod} does not exist any more"
    if pod.ended:
        return f"Pod {claim.pod} has ended"
    if pod.deleting:
        return f"Pod {claim.pod} is being deleted"
    holder = f" by CNClaim {pod.claim}" if pod.claim else ""
    return f"Pod {claim.pod} is {pod.phase.value}{holder}"


def _bind(work: Round, claim: ClaimFacts, pod: PodFacts) -> None:
    """Commit a claim to the Pod that it names, if that is available."""
    if is_available(work, pod):
        work.add(bind(pod, claim, work.snapshot.now), on=f"Pod/{pod.name}")


def _write(
    work: Round,
    claim: ClaimFacts,
    spec: dict[str, Any],
    labels: dict[str, str | None],
    why: str,
) -> None:
    write = ClaimWrite(claim.name, claim.uid, claim.version, spec, labels, why=why)
    work.add(write, on=f"Claim/{claim.name}")
