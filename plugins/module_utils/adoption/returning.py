# SPDX-License-Identifier: Apache-2.0
"""The way back: our operator lets go, and the Go operator makes its workloads from the same specs.

Its Advanced StatefulSets take the Pods of the same names and labels over. Its CloneSets create new
Pods, so our Deployments go on until these serve, and are deleted by a second run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..api import names
from .facts import Cluster, Set
from .planning import ordered
from .steps import Action, AdoptionPlan, Step


def plan_return(cluster: Cluster) -> AdoptionPlan:
    """Decide what is left to be done until the Go operator can run the cluster."""
    sets = list(reversed(ordered(cluster.sets)))
    refusals = tuple(_refusals(cluster, sets))
    if refusals:
        return AdoptionPlan(refusals=refusals)
    steps = [*_pausing(cluster, sets)]
    for one in sets:
        steps.extend(steps_back(one))
    return AdoptionPlan(steps=tuple(steps), notes=tuple(_notes(sets, steps)))


def _refusals(cluster: Cluster, sets: list[Set]) -> Iterator[str]:
    place = f"MatrixOneCluster {cluster.namespace}/{cluster.name}"
    if not cluster.exists:
        yield f"{place} does not exist"
    if cluster.is_deleted:
        yield f"{place} is being deleted"
    for one in sets:
        if one.is_deleted:
            yield f"{one.title} is being deleted"
        if one.replaced:
            yield (
                f"log stores of {one.title} have been replaced since its adoption: the Go operator "
                "would start them with the ids of their predecessors"
            )
        if one.stateful and one.own is not None and one.foreign is not None:
            yield f"{one.foreign.title} and our {one.own.title} exist both"


def _pausing(cluster: Cluster, sets: list[Set]) -> Iterator[Step]:
    """Yield what keeps our operator from making anew what it lets go of."""
    if not cluster.paused:
        yield Step(Action.PAUSE, names.API_VERSION, names.CLUSTER, cluster.name)
    for one in sets:
        if not one.paused:
            yield _about(one, Action.PAUSE)


def steps_back(one: Set) -> Iterator[Step]:
    """Yield what is left to be done for a set."""
    own = one.own
    if own is not None and one.stateful:
        if not own.keeps_claims:
            yield _workload(one, Action.KEEP_CLAIMS)
        for claim in one.claims:
            yield Step(
                Action.FREE_CLAIM, "v1", "PersistentVolumeClaim", claim.name, claim.uid, one.title
            )
        yield _workload(one, Action.ORPHAN)
    elif own is not None and _serves_again(one):
        yield _workload(one, Action.END_WORKLOAD)
    if one.policy:
        yield Step(
            Action.END_POLICY,
            "networking.k8s.io/v1",
            "NetworkPolicy",
            one.base,
            one.policy,
            one.title,
        )
    if one.adoption:
        yield _about(one, Action.HAND_BACK)


def _serves_again(one: Set) -> bool:
    """Return whether the Pods of OpenKruise are all there and ready."""
    if one.foreign is None or not one.foreign.settled:
        return False
    theirs = [pod for pod in one.pods if pod.owner and pod.owner.uid == one.foreign.uid]
    return len(theirs) == one.foreign.replicas > 0 and all(pod.ready for pod in theirs)


def _workload(one: Set, action: Action) -> Step:
    own = one.own
    if own is None:
        raise AssertionError(f"{one.title} has no workload")
    return Step(action, own.api_version, own.kind, own.name, own.uid, one.title)


def _about(one: Set, action: Action) -> Step:
    return Step(action, names.API_VERSION, one.kind, one.name, one.uid, one.title)


def _notes(sets: list[Set], steps: list[Step]) -> Iterator[str]:
    ended = {step.part for step in steps if step.action is Action.END_WORKLOAD}
    left = [
        one.own.title for one in sets if one.own and not one.stateful and one.title not in ended
    ]
    if left:
        yield (
            f"start the Go operator again now; when its CloneSets serve, repeat this to delete "
            f"{', '.join(left)}"
        )
