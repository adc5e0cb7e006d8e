# SPDX-License-Identifier: Apache-2.0
"""Bugs of the predecessor, put back one at a time: the model must notice each of them.

A model that stays green with one of these protects from nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Policy
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import (
    claim_sets,
    claim_status,
    claims,
    draining,
    keys,
    matching,
    planning,
    reading,
    selectors,
    sizing,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import round as rounds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    ClaimPhase,
    Phase,
    StoreFacts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.writes import (
    ClaimStatus,
    PodWrite,
    PoolPlan,
)

from tests.pool.model.checker import explore
from tests.pool.model.monitor import Violation
from tests.pool.model.world import World

_HISTORIES = 200
_RARE = {
    "double_binding": 58,
    "finalization_never_ends": 46,
    "orphans_are_not_recovered": 3,
    "scale_in_races_a_claim": 121,
    "a_claim_of_the_same_name_inherits": 14,
}
"""Where to begin, for those that it takes many histories to meet."""
_STEPS = 400
Patch = pytest.MonkeyPatch


def double_binding(patch: Patch) -> None:
    """Pods are labelled without a condition, by what a cache shows: the later pass wins."""
    bind = draining.bind
    patch.setattr(draining, "bind", lambda *given: replace(bind(*given), version=""))
    _from_a_cache(patch, Phase.BOUND)


def _from_a_cache(patch: Patch, phase: Phase) -> None:
    """Let Pods go to a phase by what a cache shows."""
    add = rounds.Round.add

    def trusting(work: rounds.Round, write: object, *, on: str, fresh: bool = True) -> bool:
        moves = isinstance(write, PodWrite) and write.labels.get(keys.LABEL_PHASE) == phase
        return add(work, write, on=on, fresh=fresh and not moves)

    patch.setattr(rounds.Round, "add", trusting)


def stealing_of_pods(patch: Patch) -> None:
    """A claim puts its labels on the Pod that it names, whoever has that."""
    serve = draining._bound

    def steal(work: rounds.Round, pod: object) -> None:
        thief = claims.claim_for(work, pod)
        if thief is None or thief.name == pod.claim:
            serve(work, pod)
        else:
            work.add(draining.bind(pod, thief, work.snapshot.now), on=f"Pod/{pod.name}")

    patch.setitem(draining._STEPS, Phase.BOUND, steal)
    patch.setattr(claims, "is_possible", lambda _work, pod: pod is not None and pod.live)


def orphans_are_not_recovered(patch: Patch) -> None:
    """A crash after the Pod was bound: the claim, which records none, gets another one."""
    of = rounds.Round.of

    def forgetful(snapshot: object) -> rounds.Round:
        work = of(snapshot)
        work.held = {
            name: tuple(pod for pod in pods if pod.name == work.snapshot.claims[name].pod)
            for name, pods in work.held.items()
        }
        return work

    patch.setattr(rounds.Round, "of", forgetful)
    patch.setattr(draining, "leaving_because", lambda _work, _claim, _pod: "")


def a_claim_of_the_same_name_inherits(patch: Patch) -> None:
    """Only the name of a claim counts, and names are given again."""

    def holds(claim: object, pod: object) -> bool:
        return pod.phase is Phase.BOUND and pod.live and pod.claim == claim.name

    patch.setattr(rounds, "holds", holds)
    patch.setattr(draining, "holds", holds)


def finalization_never_ends(patch: Patch) -> None:
    """A Pod is not released while another claim names it, and that one waits for it."""
    release, go_on = draining.release_pod, claims._not_held

    def hesitant(work: rounds.Round, pod: object, why: str) -> None:
        names = [one.pod for one in work.snapshot.claims.values() if one.name != pod.claim]
        if pod.name not in names:
            release(work, pod, why)

    def patient(work: rounds.Round, claim: object) -> None:
        named = work.snapshot.pods.get(claim.pod)
        if named is None or named.claim in {"", claim.name} or claim.phase == ClaimPhase.LOST:
            go_on(work, claim)

    patch.setattr(draining, "release_pod", hesitant)
    patch.setattr(claims, "_not_held", patient)


def lost_claims_block(patch: Patch) -> None:
    """A lost claim keeps its place in its claim set, and the Pod that it names."""
    patch.setattr(claim_sets, "is_lost", lambda _claim: False)


def ended_pods_are_ignored(patch: Patch) -> None:
    """A Pod that failed still counts as serving its claim."""
    read = reading.pod_facts
    patch.setattr(reading, "pod_facts", lambda pod: replace(read(pod), ended=False))


def runaway_creation(patch: Patch) -> None:
    """What a claim set owns is what its selector selects, which may be nothing."""
    plan = claim_sets.plan_claim_set

    def by_selector(claim_set: object, everyone: list, pods: object, *, fresh: bool) -> object:
        known = [
            claim
            for claim in everyone
            if selectors.matches(claim_set.selector, claim.labels)
            or claim.controller != claim_set.uid
        ]
        taken = {claim.name for claim in everyone}
        create = claim_sets.new_claims
        patch.setattr(
            claim_sets, "new_claims", lambda one, count, _taken: create(one, count, taken)
        )
        try:
            return plan(claim_set, known, pods, fresh=fresh)
        finally:
            patch.setattr(claim_sets, "new_claims", create)

    patch.setattr(claim_sets, "plan_claim_set", by_selector)


def migrating_claims_are_scaled_in(patch: Patch) -> None:
    """Claims are deleted in their order, in the middle of a migration or not."""

    def plain(_replicas: int, owned: list, pods: object, count: int) -> list:
        ordered = sorted(owned, key=lambda claim: claim_sets.deletion_order(claim, pods))
        return ordered[: max(0, count)]

    patch.setattr(claim_sets, "claims_to_delete", plain)


def pending_claims_are_not_trimmed(patch: Patch) -> None:
    """Scaling in by a negative scale-out does nothing while claims are pending."""
    claims_to_delete = claim_sets.claims_to_delete

    def reluctant(replicas: int, owned: list, pods: object, count: int) -> list:
        bound = sum(claim.phase != ClaimPhase.PENDING for claim in owned)
        return claims_to_delete(replicas, owned, pods, count) if bound > replicas else []

    patch.setattr(claim_sets, "claims_to_delete", reluctant)


def max_pods_aborts_the_pass(patch: Patch) -> None:
    """A pool at its limit does nothing more, not even shrink."""
    plan = planning.plan_pool

    def aborting(snapshot: object) -> PoolPlan:
        found = plan(snapshot)
        return PoolPlan(requeue=60.0) if found.limited else found

    patch.setattr(planning, "plan_pool", aborting)


def stale_reads_create_too_many(patch: Patch) -> None:
    """What a cache does not show yet is created again."""
    add = rounds.Round.add

    def trusting(work: rounds.Round, write: object, *, on: str, fresh: bool = True) -> bool:
        del fresh
        return add(work, write, on=on, fresh=False)

    patch.setattr(rounds.Round, "add", trusting)


def age_by_seconds_of_the_minute(patch: Patch) -> None:
    """Ages are compared by their seconds alone."""
    patch.setattr(
        planning, "in_order", lambda one: (-one.priority, math.fmod(one.created, 60), one.name)
    )


def claim_set_label_stays(patch: Patch) -> None:
    """A released Pod still counts for the autoscaler of the set that had it."""
    release = draining.release

    def forgetful(*given: object, **more: object) -> object:
        write = release(*given, **more)
        labels = {key: one for key, one in write.labels.items() if key != keys.LABEL_CLAIM_SET}
        return replace(write, labels=labels)

    patch.setattr(draining, "release", forgetful)


def unknown_load_is_zero(patch: Patch) -> None:
    """A node that could not be asked has no sessions."""

    def is_drained(pod: object, store: StoreFacts, delay: int) -> bool:
        busy = any((store.load.sessions, store.load.pipelines, store.load.replicas))
        since = pod.draining_since
        return since is not None and store.clean and store.seen_at >= since + delay and not busy

    patch.setattr(draining, "is_drained", is_drained)


def drained_before_proxies_know(patch: Patch) -> None:
    """The first answer counts, although proxies still send sessions."""
    is_drained = draining.is_drained
    patch.setattr(draining, "is_drained", lambda pod, store, _delay: is_drained(pod, store, 0))
    patch.setattr(draining, "_go_on_draining", _sampling_at_once)


def _sampling_at_once(work: rounds.Round, pod: object, _store: object) -> None:
    if pod.draining_since is not None:
        work.sample.append(pod.name)


def no_drain_without_webhooks(patch: Patch) -> None:
    """The drain timeout is 0 where no webhook set its default."""
    read = reading.pool_facts
    policy = Policy(True, 0, 0)
    patch.setattr(reading, "pool_facts", lambda *given: replace(read(*given), drain=policy))


def empty_labels_are_not_set(patch: Patch) -> None:
    """PatchCNStore keeps the labels of the tenant before where there are no new ones."""
    set_state, facts = World.set_state, World.store_facts

    def patching(world: World, pod: str, state: WorkState | None, labels: object) -> None:
        set_state(world, pod, state, labels or None)

    patch.setattr(World, "set_state", patching)
    patch.setattr(
        World, "store_facts", lambda *given, **more: replace(facts(*given, **more), labels={})
    )
    patch.setattr(StoreFacts, "serves", lambda store, _labels: store.state is WorkState.WORKING)


def scale_in_takes_pods_in_use(patch: Patch) -> None:
    """Whoever shrinks the pool does not know which Pods are bound."""
    patch.setattr(sizing, "_FREE", frozenset({Phase.UNKNOWN, Phase.IDLE, Phase.BOUND}))
    patch.setattr(sizing, "_IN_USE", frozenset({Phase.DRAINING}))


def scale_in_races_a_claim(patch: Patch) -> None:
    """An idle Pod is deleted as a cache shows it, although a claim has it by now."""
    terminate = sizing.terminate
    patch.setattr(sizing, "terminate", lambda *given: replace(terminate(*given), version=""))
    patch.setattr(planning, "_named", lambda _work: set())
    _from_a_cache(patch, Phase.TERMINATING)


def endless_writes(patch: Patch) -> None:
    """What is there is compared with what is desired before defaults are set."""

    def add_status(work: rounds.Round, claim: object, status: dict) -> None:
        write = ClaimStatus(claim.name, claim.uid, claim.version, status)
        work.add(write, on=f"ClaimStatus/{claim.name}")

    patch.setattr(claim_status, "add_status", add_status)


def sources_are_released_at_once(patch: Patch) -> None:
    """A migration drains its source before its target serves."""
    patch.setattr(claims, "MIGRATION_DELAY_SECONDS", 0)


def warm_pods_go_with_their_template(patch: Patch) -> None:
    """Idle Pods of an earlier template go at once, and claims wait until new ones have started."""
    replaced = sizing.replaced
    patch.setattr(
        sizing,
        "replaced",
        lambda work, size, *given: replaced(work, replace(size, idle=0), *given),
    )


def surges_go_in_circles(patch: Patch) -> None:
    """A claim of a set that replaces an outdated one may get a Pod that is outdated as well."""
    patch.setattr(matching, "_replaced", lambda _work: frozenset())


_LOST_SESSIONS = "is Idle and has sessions|has sessions and is given up before its time"

BUGS: list[tuple[Callable[[Patch], None], str]] = [
    (double_binding, "is Bound, held by .*, and is bound"),
    (stealing_of_pods, "is Bound, held by .*, and is bound"),
    (orphans_are_not_recovered, "has .*, .*|outside of a migration"),
    (a_claim_of_the_same_name_inherits, "works with labels"),
    (finalization_never_ends, "bound to claims that are gone|waits for ever"),
    (lost_claims_block, "claims for|claim set keeps it"),
    (ended_pods_are_ignored, "does not serve it"),
    (runaway_creation, "claims for . replicas"),
    (migrating_claims_are_scaled_in, "migrates and is deleted"),
    (pending_claims_are_not_trimmed, "leaves . claims for . replicas"),
    (max_pods_aborts_the_pass, "does not become quiet|waits for ever|has .*Terminating"),
    (stale_reads_create_too_many, "maxPods is|free Pods"),
    (age_by_seconds_of_the_minute, "waited longer for it"),
    (claim_set_label_stays, "still has labels of a claim"),
    (unknown_load_is_zero, _LOST_SESSIONS),
    (drained_before_proxies_know, _LOST_SESSIONS),
    (no_drain_without_webhooks, "has sessions and is given up before its time"),
    (empty_labels_are_not_set, "works with labels"),
    (scale_in_takes_pods_in_use, "is Bound and is given up"),
    (scale_in_races_a_claim, "is Bound and is given up"),
    (endless_writes, "does not become quiet"),
    (sources_are_released_at_once, "is released .* after"),
    (warm_pods_go_with_their_template, "are given up, and .* are idle"),
    (surges_go_in_circles, "replaces a claim and gets"),
]


@pytest.mark.parametrize(("bug", "noticed"), BUGS, ids=lambda one: getattr(one, "__name__", ""))
def test_the_model_notices_a_bug_of_the_predecessor(bug, noticed, monkeypatch):
    bug(monkeypatch)
    first = _RARE.get(bug.__name__, 0)
    with pytest.raises(Violation) as found:
        explore(range(first, first + _HISTORIES), _STEPS)
    assert re.search(noticed, str(found.value).splitlines()[0])
