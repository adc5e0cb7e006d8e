# SPDX-License-Identifier: Apache-2.0
"""What is done to take a cluster over, and what stands in the way.

Log stores and transaction nodes keep their names, claims and ids, so their Pods go on, and our
operator replaces them one at a time as in any rolling update. Compute nodes and proxies have no
data: new ones begin beside the old ones, which end when these serve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..api import names
from ..workload.kruise import UNDER_WAY
from .facts import ORDER, Cluster, Owner, Pod, Set
from .steps import Action, AdoptionPlan, Step


def plan_adoption(cluster: Cluster) -> AdoptionPlan:
    """Decide what is left to be done until our operator runs the whole cluster."""
    sets = ordered(cluster.sets)
    refusals = (*_of_cluster(cluster), *(text for one in sets for text in _of_set(one)))
    if refusals:
        return AdoptionPlan(refusals=refusals)
    steps = [*_beginning(cluster, sets)]
    for one in sets:
        steps.extend(steps_of_set(one))
    return AdoptionPlan(steps=tuple(steps), notes=tuple(_notes(cluster, sets, steps)))


def ordered(sets: Iterable[Set]) -> list[Set]:
    """Return sets in the order in which they are taken over."""
    return sorted((one for one in sets if one.kind in ORDER), key=_turn)


def _turn(one: Set) -> tuple[int, str]:
    return ORDER.index(one.kind), one.name


def _of_cluster(cluster: Cluster) -> Iterator[str]:
    """Yield what stands in the way before any set is looked at."""
    place = f"MatrixOneCluster {cluster.namespace}/{cluster.name}"
    if not cluster.exists:
        yield f"{place} does not exist"
    if cluster.is_deleted:
        yield f"{place} is being deleted"
    if cluster.paused and not cluster.paused_by_us:
        yield f"{place} is paused by an annotation; remove that first"
    for where in cluster.operators:
        yield f"the Go operator is at work ({where}); scale its Deployment to 0 first"
    for name in cluster.webhooks:
        yield (
            f"{name} sends changes to the webhook of the Go operator, which does not answer when "
            "that is stopped; delete this configuration first"
        )
    for name in cluster.pools:
        yield f"CNPool {name} has Pods that OpenKruise runs; scale it and its claims to 0 first"
    for bucket in cluster.buckets:
        if bucket.name != bucket.expected:
            yield (
                f"BucketClaim {bucket.name} holds the path of the data; ours for this LogSet would "
                f"be {bucket.expected}, and must not be a second one"
            )
    if cluster.exists and not any(one.kind == names.LOG_SET for one in cluster.sets):
        yield f"{place} has no LogSet"


def _of_set(one: Set) -> Iterator[str]:
    """Yield what stands in the way of taking a set over."""
    if one.is_deleted:
        yield f"{one.title} is being deleted"
    if one.paused and not one.paused_by_us:
        yield f"{one.title} is paused by an annotation; remove that first"
    if one.foreign is None:
        return
    yield from _of_workload(one)
    yield from _of_pods(one)
    yield from _of_files(one)
    if one.stateful:
        yield from _of_ordinals(one)
        yield from _of_claims(one)


def _of_workload(one: Set) -> Iterator[str]:
    found = one.foreign
    if found is None:
        return
    if found.owner_uid != one.uid:
        yield f"{found.title} does not belong to {one.title}: its owner is another object"
    if found.is_deleted:
        yield f"{found.title} is being deleted"
    if one.own is not None:
        yield f"{found.title} and our {one.own.title} exist both: which Pods are whose is unknown"
    if one.replicas is not None and found.replicas != one.replicas:
        yield (
            f"{found.title} has {found.replicas} replicas, {one.title} asks for {one.replicas}; "
            "let the Go operator finish that first"
        )
    if not found.settled:
        yield f"{found.title} is in the middle of an update; let the Go operator finish that first"
    if found.reserved:
        listed = ", ".join(map(str, found.reserved))
        yield (
            f"{found.title} leaves out the ordinals {listed} since a log store failed; a "
            "StatefulSet of Kubernetes has no gaps, so this set cannot be taken over"
        )


def _of_pods(one: Set) -> Iterator[str]:
    found = one.foreign
    if found is None:
        return
    for pod in one.pods:
        if pod.owner is None or pod.owner.uid != found.uid:
            yield f"Pod {pod.name} does not belong to {found.title}: {_owner(pod.owner)}"
        if not pod.ready:
            yield f"Pod {pod.name} is not ready"
        if one.image and pod.image != one.image:
            yield f"Pod {pod.name} runs {pod.image}, {one.title} asks for {one.image}"
    if len(one.pods) != found.replicas:
        yield f"{found.title} should have {found.replicas} Pods and has {len(one.pods)}"


def _owner(owner: Owner | None) -> str:
    return (
        "it has no controller" if owner is None else f"its controller is {owner.kind} {owner.name}"
    )


def _of_ordinals(one: Set) -> Iterator[str]:
    expected = (
        {f"{one.base}-{ordinal}" for ordinal in range(one.foreign.replicas)}
        if one.foreign
        else set()
    )
    for name in sorted(expected - {pod.name for pod in one.pods}):
        yield f"Pod {name} of {one.title} does not exist"


def _of_claims(one: Set) -> Iterator[str]:
    """Yield what is wrong with the claims, by whose names our StatefulSet finds the data."""
    known = {claim.name: claim for claim in one.claims}
    for pod in one.pods:
        name = f"{names.VOLUME_DATA}-{pod.name}"
        data = [other for other in pod.claims if other.startswith(f"{names.VOLUME_DATA}-")]
        if name not in pod.claims:
            # A transaction node may have its cache, which is all that it keeps, in the Pod.
            if one.kind == names.LOG_SET or data:
                yield f"Pod {pod.name} does not mount the claim {name}"
            continue
        claim = known.get(name)
        if claim is None:
            yield f"PersistentVolumeClaim {name} does not exist"
        elif not claim.bound:
            yield f"PersistentVolumeClaim {name} is not bound, or is being deleted"
    for claim in one.claims:
        for owner in claim.owners:
            if one.foreign is not None and owner.uid != one.foreign.uid:
                yield f"PersistentVolumeClaim {claim.name} is owned by {owner.kind} {owner.name}"


def _of_files(one: Set) -> Iterator[str]:
    """Yield which files the new Pods, which do not run as root, could not open."""
    if one.as_root or not any(pod.as_root for pod in one.pods):
        return
    remedy = "set overlay.securityContext.runAsUser: 0 for all parts of the cluster"
    if one.in_folder:
        yield (
            f"Pods of {one.title} run as root and share a folder, whose files new Pods could not "
            f"change; {remedy}"
        )
    for claim in one.claims if one.stateful else ():
        if not claim.regrouped:
            yield (
                f"Pods of {one.title} run as root, and Kubernetes gives no group the files of the "
                f"volume of PersistentVolumeClaim {claim.name}; {remedy}"
            )


def _beginning(cluster: Cluster, sets: Iterable[Set]) -> Iterator[Step]:
    """Yield what has to be so before the first set is touched."""
    if cluster.paused_by_us:
        yield Step(Action.RESUME, names.API_VERSION, names.CLUSTER, cluster.name)
    for one in sets:
        if one.paused_by_us:
            yield _about(one, Action.RESUME)
    for one in sets:
        if one.foreign is not None and not one.held:
            yield _about(one, Action.AWAIT_HELD)


def steps_of_set(one: Set) -> Iterator[Step]:
    """Yield what is left to be done for a set, once nothing stands in the way."""
    found = one.foreign
    if found is not None:
        if one.stateful:
            yield from _keeping_claims(one)
        for pod in one.pods:
            yield from _release(one, pod)
        yield Step(Action.ORPHAN, found.api_version, found.kind, found.name, found.uid, one.title)
    old = [pod for pod in one.pods if pod.left_behind]
    if found is None:
        for pod in old:
            yield from _release(one, pod)
    taken = found is not None or bool(old) or any(pod.owner is None for pod in one.pods)
    if not (taken or one.adoption == UNDER_WAY):
        return
    if found is not None or one.adoption != UNDER_WAY:
        yield _about(one, Action.HAND_OVER)
    yield _about(one, Action.AWAIT_SERVING)
    yield _about(one, Action.COMPLETE)
    if one.kind == names.PROXY_SET:
        leaving = one.pods if found is not None else old
        yield from (_of_pod(one, pod, Action.END_POD) for pod in leaving)


def _keeping_claims(one: Set) -> Iterator[Step]:
    """Yield what keeps claims from going with the workload, before that goes."""
    found = one.foreign
    if found is None:
        return
    if not found.keeps_claims:
        yield Step(
            Action.KEEP_CLAIMS, found.api_version, found.kind, found.name, found.uid, one.title
        )
    for claim in one.claims:
        # Not only where it is owned now: the workload is told just before to stop owning it.
        yield Step(
            Action.FREE_CLAIM, "v1", "PersistentVolumeClaim", claim.name, claim.uid, one.title
        )


def _release(one: Set, pod: Pod) -> Iterator[Step]:
    if pod.finalizers:
        yield _of_pod(one, pod, Action.RELEASE_POD)


def _of_pod(one: Set, pod: Pod, action: Action) -> Step:
    removes = pod.finalizers if action is Action.RELEASE_POD else ()
    return Step(action, "v1", "Pod", pod.name, pod.uid, one.title, removes)


def _about(one: Set, action: Action) -> Step:
    return Step(action, names.API_VERSION, one.kind, one.name, one.uid, one.title)


def _notes(cluster: Cluster, sets: list[Set], steps: list[Step]) -> Iterator[str]:
    if not steps:
        yield f"{cluster.namespace}/{cluster.name} is run by our operator; nothing is to be done"
        return
    for one in sets:
        if one.foreign is None:
            continue
        if one.stateful and one.foreign.replicas == 1:
            yield f"{one.title} has one Pod: the database does not answer while it is replaced"
        if not one.stateful and one.claims:
            listed = ", ".join(claim.name for claim in one.claims)
            yield f"the caches of the old Pods of {one.title} stay; delete them later: {listed}"
