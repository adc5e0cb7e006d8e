# SPDX-License-Identifier: Apache-2.0
"""Clusters and sets go whatever state they are in, and what the spec keeps is kept."""

import time
import uuid
from typing import Any

import pytest

from tests.support.namespaces import CHILDREN, KINDS, Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = [pytest.mark.api, pytest.mark.usefixtures("operator")]

PARTS = f"{KINDS},pods"


def left(space: Namespace, name: str) -> set[str]:
    """Return what is left of the sets and clusters of a name, but for its volumes."""
    found = space.names(f"mo,{CHILDREN},{PARTS}")
    return {one for one in found if f"/{name}-" in f"{one}-" and "persistentvolume" not in one}


def make(space: Namespace, name: str, **spec: Any) -> dict[str, Any]:
    resource = tiny_cluster(space.name)
    resource["metadata"]["name"] = name
    resource["spec"].update(spec)
    space.apply(resource)
    return resource


def wait_for_garbage_collection(space: Namespace) -> None:
    """Wait until Kubernetes collects objects of our kinds, of which it learns twice a minute.

    Of kinds that it does not know yet, it makes no orphans, and releases their owner all the same.
    """
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": str(uuid.uuid4())}
    claim = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "CNClaim",
        "metadata": {"name": "collected", "namespace": space.name, "ownerReferences": [owner]},
        "spec": {"selector": {"matchLabels": {"pool": "none"}}},
    }
    space.apply(claim)
    eventually(lambda: not space.get("cnclaim", "collected"), seconds=90.0)


def test_a_cluster_that_never_came_up_goes(space):
    """Its first log stores cannot even be pulled."""
    make(space, "unborn", version="broken")
    eventually(lambda: space.get("statefulset", "unborn-log"))

    space.kubectl("delete", "mo", "unborn", "--timeout=120s")

    eventually(lambda: left(space, "unborn") == set())
    assert not [name for name in space.names("pvc") if "unborn" in name]


def test_a_paused_cluster_goes_in_order(space):
    """The log service is the last to go; a pause keeps nothing alive."""
    make(space, "paused")
    space.wait("Ready", name="paused")
    space.kubectl("annotate", "mo,logset", "paused", "matrixorigin.io/paused=true")
    eventually(lambda: space.condition("logset", "paused", "Paused").get("status") == "True")

    space.kubectl("delete", "mo", "paused", "--wait=false")

    seen = []
    while space.get("mo", "paused"):
        kinds = {name.partition(".")[0] for name in space.names(CHILDREN) if "paused" in name}
        if not seen or seen[-1] != kinds:
            seen.append(kinds)
        time.sleep(0.1)
    without_tn = [kinds for kinds in seen if "dnset" not in kinds]
    assert all("cnset" not in kinds and "proxyset" not in kinds for kinds in without_tn)
    assert all("dnset" not in kinds for kinds in seen if "logset" not in kinds)
    eventually(lambda: left(space, "paused") == set())


def test_a_child_that_is_deleted_comes_back(space):
    """And goes for good with its cluster, deleted in the foreground."""
    make(space, "parent")
    space.wait("Ready", name="parent")
    old = space.get("proxyset", "parent")["metadata"]["uid"]

    space.kubectl("delete", "proxyset", "parent", "--timeout=60s")

    eventually(
        lambda: space.get("proxyset", "parent").get("metadata", {}).get("uid") not in {None, old}
    )
    space.wait("Ready", kind="proxyset", name="parent")
    space.kubectl("delete", "mo", "parent", "--cascade=foreground", "--timeout=120s")
    eventually(lambda: left(space, "parent") == set())


def test_orphans_serve_on_and_are_adopted_again(space):
    """Who deletes without the dependents keeps every Pod, and may come back to it."""
    wait_for_garbage_collection(space)
    resource = make(space, "orphan")
    space.wait("Ready", name="orphan")
    space.wait("Synced", name="orphan")
    pods = {name for name in space.names("pods") if "orphan" in name}

    space.kubectl("delete", "mo", "orphan", "--cascade=orphan", "--timeout=60s")

    assert {name for name in space.names("pods") if "orphan" in name} == pods
    assert not space.get("logset", "orphan")["metadata"].get("ownerReferences")
    space.apply(resource)
    space.wait("Ready", name="orphan")
    assert {name for name in space.names("pods") if "orphan" in name} == pods
    space.kubectl("delete", "mo", "orphan", "--timeout=120s")
    eventually(lambda: left(space, "orphan") == set())


POLICIES: dict[str, tuple[str | None, str | None, bool]] = {
    "keeps-none": (None, None, False),
    "keeps-all": ("Retain", None, True),
    "keeps-with-bucket": (None, "Retain", True),
    "keeps-bucket-only": ("Delete", "Retain", False),
}
"""By name of a set: its policy, that of its bucket, and whether its volume stays."""


def log_set(space: Namespace, name: str) -> dict[str, Any]:
    """Return a log service of one store with the policies of its name."""
    policy, s3_policy, _kept = POLICIES[name]
    s3 = {"path": f"bucket/{name}"} | ({"s3RetentionPolicy": s3_policy} if s3_policy else {})
    spec: dict[str, Any] = {
        "replicas": 1,
        "image": "matrixorigin/matrixone:3.0.18",
        "volume": {"size": "1Gi"},
        "sharedStorage": {"s3": s3},
    }
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": name, "namespace": space.name},
        "spec": spec | ({"pvcRetentionPolicy": policy} if policy else {}),
    }


def test_volumes_go_or_stay_as_the_policy_says(space):
    """The set's own policy, else that of its bucket, else Delete."""
    claims = {name: f"mo-data-{name}-log-0" for name in POLICIES}
    for name in POLICIES:
        space.apply(log_set(space, name))
    for name in POLICIES:
        space.wait("Ready", kind="logset", name=name)
        assert space.get("pvc", claims[name])

    space.kubectl("delete", "logset", *POLICIES, "--timeout=60s")

    for name in POLICIES:
        eventually(lambda name=name: left(space, name) == set())
    time.sleep(1)
    stays = {name for name in POLICIES if space.get("pvc", claims[name])}
    assert stays == {name for name, (*_policies, kept) in POLICIES.items() if kept}
    space.kubectl("delete", "pvc", *claims.values(), "--ignore-not-found")


def test_what_opens_and_holds_kept_data_is_kept(space):
    """The shared volume and the root credential belong to nobody, and a new cluster uses them."""
    resource = tiny_cluster(space.name)
    resource["metadata"]["name"] = "kept"
    resource["spec"]["logService"]["pvcRetentionPolicy"] = "Retain"
    space.apply(resource)
    space.wait("Ready", name="kept")
    secret = space.get("secret", "kept-credential")
    assert not secret["metadata"].get("ownerReferences")
    assert not space.get("pvc", "kept-shared")["metadata"].get("ownerReferences")

    space.kubectl("delete", "mo", "kept", "--timeout=120s")
    credentials = {"secret/kept-credential", "secret/kept-credential-accepted"}
    eventually(lambda: left(space, "kept") == credentials)
    time.sleep(2)
    assert {name for name in space.names("pvc") if "kept-" in name} == {
        "persistentvolumeclaim/kept-shared",
        *(f"persistentvolumeclaim/mo-data-kept-log-{number}" for number in range(3)),
    }

    space.apply(resource)
    space.wait("Ready", name="kept")
    assert space.get("secret", "kept-credential")["data"] == secret["data"]
    space.kubectl("delete", "mo", "kept", "--timeout=120s")


def test_copies_of_what_a_cluster_consists_of_stay(space):
    """A volume that was restored beside the original, a Service of somebody: with all labels."""
    make(space, "copied")
    space.wait("Ready", name="copied")
    for kind, name in (("pvc", "mo-data-copied-log-0"), ("service", "copied-log-headless")):
        found = space.get(kind, name)
        kept = {"labels": found["metadata"]["labels"], "name": f"restored-{name}"}
        spec = {key: found["spec"][key] for key in ("accessModes", "resources") if kind == "pvc"}
        if kind == "service":
            spec = {"ports": [{"port": 80}], "selector": {"app": "mine"}}
        space.apply(
            {
                **{key: found[key] for key in ("apiVersion", "kind")},
                "metadata": {**kept, "namespace": space.name},
                "spec": spec,
            }
        )

    space.kubectl("delete", "mo", "copied", "--timeout=120s")

    eventually(lambda: left(space, "copied") == set())
    volumes = {name for name in space.names("pvc") if "copied" in name}
    assert volumes == {"persistentvolumeclaim/restored-mo-data-copied-log-0"}
    assert space.get("service", "restored-copied-log-headless")


def test_an_update_is_held_back_and_chosen_pods_go_first(space):
    """spec.pauseUpdate holds back what would replace Pods, also a removal, and nothing else."""
    resource = make(space, "held")
    group = resource["spec"]["cnGroups"][0]
    group["replicas"], group["resources"]["limits"] = 3, {"memory": "1024Mi"}
    space.apply(resource)
    space.wait("Ready", name="held")
    space.wait("Synced", name="held")
    before = compute_nodes(space)

    group["pauseUpdate"] = True
    del group["resources"]["limits"]
    space.apply(resource)
    eventually(lambda: space.condition("cnset", "held-tp", "Synced").get("reason") == "Paused")
    time.sleep(3)
    assert compute_nodes(space) == before

    resource["spec"]["version"] = "3.0.19"
    space.apply(resource)
    eventually(lambda: space.condition("cnset", "held-tp", "Synced").get("reason") == "Paused")
    time.sleep(3)
    assert compute_nodes(space) == before

    group["replicas"], group["podsToDelete"] = 2, [sorted(before)[1]]
    space.apply(resource)
    eventually(lambda: len(compute_nodes(space)) == 2)
    assert compute_nodes(space) == before - {sorted(before)[1]}

    del group["pauseUpdate"]
    space.apply(resource)
    space.wait("Synced", name="held")
    assert not compute_nodes(space) & before
    space.kubectl("delete", "mo", "held", "--timeout=120s")


def compute_nodes(space: Namespace) -> set[str]:
    """Return the names of the compute nodes that are not going."""
    return {
        one["metadata"]["name"]
        for one in space.listed("pods", "matrixorigin.io/instance=held-tp")
        if "deletionTimestamp" not in one["metadata"]
    }
