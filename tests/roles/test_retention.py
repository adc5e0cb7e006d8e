# SPDX-License-Identifier: Apache-2.0
"""What becomes of volumes when the policy changes during a cluster's life."""

import json
import time
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = [pytest.mark.api, pytest.mark.usefixtures("operator")]


INSTANCE = "matrixorigin.io/instance={}"
STALLED = ("Stalled", "True")


def make(space: Namespace, *names: str) -> list[dict[str, Any]]:
    """Bring up log services side by side, with shared volumes that go with them."""
    made = [tiny_cluster(space.name) for _ in names]
    for resource, name in zip(made, names, strict=True):
        resource["metadata"]["name"] = name
        del resource["spec"]["proxy"]
        space.apply(resource)
    for name in names:
        space.wait("Ready", name=name)
        space.wait("Synced", name=name)
    return made


def claims(space: Namespace, name: str) -> set[str]:
    """Return the claims of a log service that are not going; nobody owns any of them."""
    found = space.listed("pvc", INSTANCE.format(name))
    staying = [one["metadata"] for one in found if "deletionTimestamp" not in one["metadata"]]
    assert not [one for one in staying if one.get("ownerReferences")]
    return {one["name"] for one in staying}


def names(name: str) -> set[str]:
    return {*(f"mo-data-{name}-log-{number}" for number in range(3)), f"{name}-shared"}


def retention(space: Namespace, kind: str, name: str, policy: str | None) -> None:
    service = {"pvcRetentionPolicy": policy}
    spec = {"logService": service} if kind == "mo" else service
    space.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": spec}))


def uid(space: Namespace, kind: str, name: str) -> str | None:
    """Return the uid of an object; None between two of its name."""
    return space.get(kind, name).get("metadata", {}).get("uid")


def test_the_policy_of_the_end_counts(space):
    """Until then it changes nothing, and no Pod restarts."""
    make(space, "turn")
    pods = {name for name in space.names("pods") if "turn" in name}
    for policy in ("Retain", "Delete", "Retain"):
        retention(space, "mo", "turn", policy)
        eventually(
            lambda p=policy: space.get("logset", "turn")["spec"].get("pvcRetentionPolicy") == p
        )
        space.wait("Ready", name="turn")
        space.wait("Synced", name="turn")
        assert claims(space, "turn") == names("turn")
    assert {name for name in space.names("pods") if "turn" in name} == pods

    space.kubectl("delete", "mo", "turn", "--cascade=foreground", "--timeout=120s")
    time.sleep(2)
    assert claims(space, "turn") == names("turn")


def test_volumes_that_were_kept_meet_no_other_storage(space):
    """Their log belongs to the data in the one that they record.

    Nor do they go with a cluster that never used them, whose policy is the default, Delete; nor
    does the password that opens them.
    """
    (made,) = make(space, "moved")
    password = space.get("secret", "moved-credential")["data"]
    retention(space, "mo", "moved", "Retain")
    eventually(lambda: space.get("logset", "moved")["spec"].get("pvcRetentionPolicy") == "Retain")
    space.wait("Synced", name="moved")
    space.kubectl("delete", "mo", "moved", "--timeout=120s")
    assert claims(space, "moved") == names("moved")

    files = made["spec"]["logService"]["sharedStorage"]["fileSystem"]
    first, files["path"] = files["path"], "/var/lib/another"
    space.apply(made)
    refused = eventually(lambda: stalled(space, "logset", "moved"))
    assert refused["reason"] == "InvalidSpec"
    assert f"whose data are in file://{first}" in refused["message"]
    assert not space.get("statefulset", "moved-log")
    space.kubectl("delete", "mo", "moved", "--timeout=120s")
    time.sleep(2)
    assert claims(space, "moved") == names("moved")
    assert space.get("secret", "moved-credential")["data"] == password

    files["path"] = first
    space.apply(made)
    space.wait("Ready", name="moved")
    assert space.get("secret", "moved-credential")["data"] == password
    eventually(lambda: space.get("secret", "moved-credential")["metadata"].get("ownerReferences"))
    space.kubectl("delete", "mo", "moved", "--timeout=120s")
    eventually(lambda: claims(space, "moved") == set())
    eventually(lambda: not space.get("secret", "moved-credential"))


def stalled(space: Namespace, kind: str, name: str) -> dict[str, Any]:
    """Return the condition Stalled while it is true."""
    conditions = (space.get(kind, name).get("status") or {}).get("conditions") or []
    return next((one for one in conditions if (one["type"], one["status"]) == STALLED), {})


def test_what_is_changed_by_hand_takes_no_volume_along(space):
    """The policy is Delete, and says what becomes of the data at the end of the cluster."""
    make(space, "part")
    before = claim_uids(space)
    for words in (
        ("delete", "statefulset", "part-log"),
        ("delete", "statefulset", "part-log", "--cascade=foreground"),
        ("delete", "logset", "part"),
        ("delete", "logset", "part", "--cascade=foreground"),
    ):
        first = uid(space, words[1], words[2])
        space.kubectl(*words, "--timeout=120s")
        eventually(lambda f=first, w=words: uid(space, w[1], w[2]) not in {None, f}, 60)
        space.wait("Ready", name="part")
        assert claim_uids(space) == before, words

    pods = {name for name in space.names("pods") if "part-log" in name}
    generation = space.get("statefulset", "part-log")["metadata"]["generation"]
    space.kubectl("scale", "statefulset", "part-log", "--replicas=0")
    eventually(lambda: served(space, "part-log", generation + 1), 60)
    assert {name for name in space.names("pods") if "part-log" in name} == pods
    assert claim_uids(space) == before

    space.kubectl("delete", "mo", "part", "--timeout=120s")
    eventually(lambda: claims(space, "part") == set())


def claim_uids(space: Namespace) -> set[str]:
    """Return the uids of the claims of the cluster ``part`` that are not going."""
    found = space.listed("pvc", INSTANCE.format("part"))
    return {one["metadata"]["uid"] for one in found if "deletionTimestamp" not in one["metadata"]}


def served(space: Namespace, name: str, generation: int) -> bool:
    """Return whether a StatefulSet has all its Pods again, after a generation."""
    found = space.get("statefulset", name)
    ready = found["status"].get("readyReplicas", 0)
    is_later = found["status"].get("observedGeneration", 0) > generation
    return is_later and ready == found["spec"]["replicas"] == 3


def test_a_claim_that_somebody_deletes_is_told_and_nothing_stops(space):
    """Its Pods hold it; a stop would be the end of the database.

    This operator may not change PersistentVolumes, and says that it cannot keep this one.
    """
    make(space, "slip")
    volume = space.get("pvc", "slip-shared")["spec"]["volumeName"]

    space.kubectl("delete", "pvc", "slip-shared", "--wait=false")
    space.kubectl("annotate", "logset", "slip", "example.com/look=now")  # or the next sign of life

    told = f"slip-shared (PersistentVolume {volume})"
    for kind in ("logset", "mo"):
        found = eventually(lambda k=kind: degraded(space, k, "slip"), 60)
        assert told in found["message"]
    eventually(lambda: "VolumeNotKept" in [one["reason"] for one in space.events()])
    pods = {name for name in space.names("pods") if "slip-log" in name}
    stop = json.dumps({"spec": {"logService": {"replicas": 0}}})
    space.kubectl("patch", "mo", "slip", "--type=merge", "-p", stop)
    refusal = eventually(
        lambda: (
            space.condition("logset", "slip", "Synced").get("reason") == "InvalidSpec"
            and space.condition("logset", "slip", "Synced")["message"]
        )
    )
    assert refusal.startswith("spec.replicas: cannot be 0: somebody has deleted")
    assert {name for name in space.names("pods") if "slip-log" in name} == pods

    space.kubectl("delete", "mo", "slip", "--timeout=120s")
    eventually(lambda: claims(space, "slip") == set())


def degraded(space: Namespace, kind: str, name: str) -> dict[str, Any]:
    """Return the condition Degraded that tells of a deleted claim; nothing until then."""
    found = space.condition(kind, name, "Degraded")
    return found if found.get("reason") == "VolumeDeleted" else {}


def test_volumes_taken_back_go_with_their_cluster(space):
    [resource] = make(space, "back")
    retention(space, "mo", "back", "Retain")
    eventually(lambda: claims(space, "back") == names("back"))
    space.kubectl("delete", "mo", "back", "--timeout=120s")
    assert claims(space, "back") == names("back")

    space.apply(resource)  # says Delete, and finds what was kept
    space.wait("Ready", name="back")
    eventually(lambda: claims(space, "back") == names("back"))
    space.kubectl("delete", "mo", "back", "--timeout=120s")
    eventually(lambda: claims(space, "back") == set())


def test_the_policy_of_the_bucket_counts_where_there_is_no_other(space):
    """s3RetentionPolicy decides for volumes, too; a deletion right after the change respects it."""
    s3 = {"path": "bucket/chain", "s3RetentionPolicy": "Delete"}
    log_set = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": "chain", "namespace": space.name},
        "spec": {
            "replicas": 1,
            "image": "matrixorigin/matrixone:1.3.0",
            "volume": {"size": "1Gi"},
            "sharedStorage": {"s3": s3},
        },
    }
    for policy, kept in [("Retain", {"mo-data-chain-log-0"}), ("Delete", set())]:
        space.apply(log_set)
        space.wait("Ready", kind="logset", name="chain")
        s3["s3RetentionPolicy"] = policy
        space.apply(log_set)
        space.kubectl("delete", "logset", "chain", "--timeout=60s")
        time.sleep(2)
        assert claims(space, "chain") == kept


def test_a_change_that_nobody_has_acted_upon_counts_when_all_goes(space):
    """Neither the LogSet nor its StatefulSet has heard of it: the resource is paused."""
    unheard = {kind: f"unheard-{kind}" for kind in ("mo", "logset")}
    make(space, *unheard.values())
    for name in unheard.values():
        space.kubectl("annotate", "mo,logset", name, "matrixorigin.io/paused=true")
    for name in unheard.values():
        for kind in ("mo", "logset"):
            eventually(
                lambda k=kind, n=name: space.condition(k, n, "Paused").get("status") == "True"
            )
    for kind, name in unheard.items():
        retention(space, kind, name, "Retain")
        assert claims(space, name) == names(name)

        space.kubectl("delete", kind, name, "--timeout=120s")

    time.sleep(2)
    for name in unheard.values():
        assert claims(space, name) == names(name)
        space.kubectl("delete", "mo", name, "--ignore-not-found", "--timeout=120s")


def test_volumes_tell_what_they_hold(space):
    """What was recorded on a LogSet is recorded on the next, also for a volume that is lost."""
    [resource] = make(space, "again")
    retention(space, "mo", "again", "Retain")
    mark = "logset.matrixorigin.io/incarnations"
    space.kubectl("annotate", "--overwrite", "logset", "again", f'{mark}={{"1":3}}')
    eventually(lambda: set(marked(space, "again", mark).values()) == {'{"1":3}'})
    space.kubectl("annotate", "--overwrite", "logset", "again", f'{mark}={{"1":3,"2":1}}')
    space.kubectl("delete", "mo", "again", "--timeout=120s")
    assert set(marked(space, "again", mark).values()) == {'{"1":3,"2":1}'}
    space.kubectl("delete", "pvc", "mo-data-again-log-0")

    resource["spec"]["logService"] |= {"pvcRetentionPolicy": "Retain", "replicas": 5}
    space.apply(resource)
    space.wait("Ready", name="again")

    annotations = space.get("logset", "again")["metadata"]["annotations"]
    assert json.loads(annotations[mark]) == {"0": 1, "1": 3, "2": 1}
    assert len(json.loads(annotations["logset.matrixorigin.io/bootstrap"])) == 3
    gossip = space.get("configmap", "again-log-gossip")["data"]["incarnations"]
    assert gossip.splitlines() == ["0 1", "1 3", "2 1"]
    eventually(lambda: len(marked(space, "again", mark)) == 5)
    eventually(lambda: set(marked(space, "again", mark).values()) == {'{"0":1,"1":3,"2":1}'})
    space.kubectl("delete", "mo", "again", "--timeout=120s")


def marked(space: Namespace, name: str, mark: str) -> dict[str, str]:
    """Return what the claims of log stores carry under an annotation, by their names."""
    return {
        one["metadata"]["name"]: one["metadata"].get("annotations", {}).get(mark, "")
        for one in space.listed("pvc", f"matrixorigin.io/instance={name}")
        if one["metadata"]["name"].startswith("mo-data-")
    }
