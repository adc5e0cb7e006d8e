# SPDX-License-Identifier: Apache-2.0
"""Facts for tests, in which only what a test is about is named."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.load import Load
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    ClaimFacts,
    Phase,
    PodFacts,
    PoolFacts,
    Snapshot,
    StoreFacts,
)

NOW = 1_800_000_000.0
CLEAN = StoreFacts(known=True, state=WorkState.DRAINING, seen_at=NOW)
WORKING = StoreFacts(known=True, state=WorkState.WORKING, seen_at=NOW)
IDLE_LOAD = Load(0, 0, 0)
SHARED = {"pool": "shared"}


def pod(name: str, phase: Phase = Phase.IDLE, **more: Any) -> PodFacts:
    """A ready Pod of the pool ``p`` and its present generation."""
    given = {"uid": f"uid-{name}", "version": "1", "pool": "p", "generation": "p-new"}
    found = PodFacts(name, phase=phase, ready=True, labels=SHARED, created=NOW - 600, **given)
    return replace(found, **more)


def bound(name: str, claim: str, **more: Any) -> PodFacts:
    """A Pod that a claim has had for some minutes."""
    held = {"claim": claim, "claim_uid": f"uid-{claim}", "claimed_at": NOW - 300}
    return pod(name, Phase.BOUND, **{**held, **more})


def claim(name: str, **more: Any) -> ClaimFacts:
    """A claim of whatever the pool ``p`` has."""
    found = ClaimFacts(name, uid=f"uid-{name}", version="1", selector={"matchLabels": SHARED})
    return replace(found, **{"created": NOW - 60, **more})


def served(name: str, by: str, phase: str = "Bound", **more: Any) -> ClaimFacts:
    """A claim that has a Pod and reports it."""
    labels = {"pool.matrixorigin.io/pool-name": "p"}
    status = {"phase": phase, "store": {"podName": by}}
    return claim(name, **{"pod": by, "pool": "p", "labels": labels, "status": status, **more})


def snapshot(
    pods: Iterable[PodFacts] = (),
    claims: Iterable[ClaimFacts] = (),
    pool: PoolFacts | None = None,
    stores: dict[str, StoreFacts] | None = None,
    **more: Any,
) -> Snapshot:
    """What a pass of the pool ``p`` knows: stores of bound Pods work, others are clean."""
    every = {one.name: one for one in pods}
    known = {name: WORKING if one.claim else CLEAN for name, one in every.items()}
    given = pool or PoolFacts("p", pod_labels=SHARED, generation="p-new")
    found = {
        "now": NOW,
        "pods": every,
        "claims": {one.name: one for one in claims},
        "pools": (given,),
        "stores": {**known, **(stores or {})},
        "generations": ("p-new",),
    }
    return Snapshot(given, **{**found, **more})


POOL = PoolFacts("p", pod_labels=SHARED, generation="p-new")
