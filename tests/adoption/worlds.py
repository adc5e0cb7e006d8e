# SPDX-License-Identifier: Apache-2.0
"""Clusters of the Go operator as facts, and what the steps of a plan make of them."""

from dataclasses import replace
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.facts import (
    STATEFUL,
    Claim,
    Cluster,
    Owner,
    Pod,
    Set,
    Workload,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.adoption.steps import (
    Action,
    Step,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names

IMAGE = "matrixorigin/matrixone:3.0.18"
NAMES = {"LogSet": "mo", "DNSet": "mo", "CNSet": "mo-tp", "ProxySet": "mo"}


def kruise_set(kind: str = "LogSet", replicas: int = 3, **changes: Any) -> Set:
    """Return a set whose Pods OpenKruise runs, and that our operator leaves alone."""
    name = NAMES[kind]
    base, stateful = names.base_name(kind, name), kind in STATEFUL
    workload = Workload(
        api_version="apps.kruise.io/v1beta1" if stateful else "apps.kruise.io/v1alpha1",
        kind="StatefulSet" if stateful else "CloneSet",
        name=base,
        uid=f"kruise-{base}",
        replicas=replicas,
        owner_uid=f"uid-{kind}",
        keeps_claims=not stateful,
    )
    owner = Owner(workload.kind, base, workload.uid, kruise=True, controller=True)
    made = Set(
        kind=kind,
        name=name,
        uid=f"uid-{kind}",
        replicas=replicas,
        image=IMAGE,
        foreign=workload,
        pods=tuple(_pod(kind, f"{base}-{number}", owner) for number in range(replicas)),
        claims=tuple(
            Claim(f"mo-data-{base}-{number}", f"claim-{number}", owners=(owner,))
            for number in range(replicas if kind == "LogSet" else 0)
        ),
        held=True,
    )
    return replace(made, **changes)


def _pod(kind: str, name: str, owner: Owner) -> Pod:
    return Pod(
        name=name,
        uid=f"pod-{name}",
        owner=owner,
        image=IMAGE,
        finalizers=("matrixorigin.io/cn-draining",) if kind == "CNSet" else (),
        claims=(f"mo-data-{name}",) if kind == "LogSet" else (),
        as_root=True,
    )


def kruise_cluster(*sets: Set, **changes: Any) -> Cluster:
    """Return a cluster of the Go operator; of all kinds where no sets are given."""
    every = tuple(
        kruise_set(kind, 1 if kind == "DNSet" else 2) for kind in NAMES if kind != "LogSet"
    )
    return replace(Cluster("prod", "mo", sets=sets or (kruise_set(), *every)), **changes)


def adopted(one: Set) -> Set:
    """Return a set as it is once our operator runs it."""
    own = Workload(
        "apps/v1", names.WORKLOADS[one.kind], one.base, f"own-{one.base}", one.replicas or 0
    )
    owner = Owner(own.kind, own.name, own.uid, controller=True)
    pods = tuple(replace(pod, owner=owner, left_behind=False, finalizers=()) for pod in one.pods)
    claims = tuple(replace(claim, owners=()) for claim in one.claims)
    return replace(
        one, foreign=None, own=own, pods=pods, claims=claims, held=False, serves=True,
        adoption="complete",
    )  # fmt: skip


def after(cluster: Cluster, step: Step) -> Cluster:
    """Return a cluster as it is after a step, with what Kubernetes and our operator do then."""
    if step.part == "":
        paused = step.action is Action.PAUSE
        return replace(cluster, paused=paused, paused_by_us=paused)
    sets = tuple(_after(one, step) if one.title == step.part else one for one in cluster.sets)
    return replace(cluster, sets=sets)


def _after(one: Set, step: Step) -> Set:
    changes = {
        Action.AWAIT_HELD: {"held": True},
        Action.RESUME: {"paused": False, "paused_by_us": False},
        Action.PAUSE: {"paused": True, "paused_by_us": True},
        Action.HAND_OVER: {"adoption": "under-way"},
        Action.COMPLETE: {"adoption": "complete"},
    }
    if step.action in changes:
        return replace(one, **changes[step.action])
    if step.action is Action.AWAIT_SERVING:
        return _serving(one)
    if step.action in {Action.RELEASE_POD, Action.END_POD}:
        return _after_pod(one, step)
    return _after_workload(one, step)


def _after_pod(one: Set, step: Step) -> Set:
    if step.action is Action.END_POD:
        return replace(one, pods=tuple(pod for pod in one.pods if pod.uid != step.uid))
    pods = (replace(pod, finalizers=()) if pod.uid == step.uid else pod for pod in one.pods)
    return replace(one, pods=tuple(pods))


def _after_workload(one: Set, step: Step) -> Set:
    if step.action is Action.KEEP_CLAIMS and one.foreign:
        return replace(one, foreign=replace(one.foreign, keeps_claims=True))
    if step.action is Action.FREE_CLAIM:
        claims = (
            replace(claim, owners=()) if claim.name == step.name else claim for claim in one.claims
        )
        return replace(one, claims=tuple(claims))
    assert step.action is Action.ORPHAN
    pods = (replace(pod, owner=None, left_behind=not one.stateful) for pod in one.pods)
    return replace(one, foreign=None, held=False, pods=tuple(pods))


def _serving(one: Set) -> Set:
    """Return a set that serves: compute nodes of before are ended then, proxies are not."""
    stay = [pod for pod in one.pods if pod.left_behind and one.kind == "ProxySet"]
    served = adopted(replace(one, pods=tuple(pod for pod in one.pods if pod not in stay)))
    return replace(served, pods=(*served.pods, *stay), adoption=one.adoption)
