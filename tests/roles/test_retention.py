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


def claims(space: Namespace, name: str) -> dict[str, list[str]]:
    """Return the claims of a log service that are not going, with the kinds of their owners."""
    return {
        one["metadata"]["name"]: [
            owner["kind"] for owner in one["metadata"].get("ownerReferences") or []
        ]
        for one in space.listed("pvc", INSTANCE.format(name))
        if "deletionTimestamp" not in one["metadata"]
    }


def names(name: str, owner: str = "", shared_owner: str = "") -> dict[str, list[str]]:
    stores = {f"mo-data-{name}-log-{number}": [owner] if owner else [] for number in range(3)}
    return {**stores, f"{name}-shared": [shared_owner] if shared_owner else []}


def retention(space: Namespace, kind: str, name: str, policy: str | None) -> None:
    service = {"pvcRetentionPolicy": policy}
    spec = {"logService": service} if kind == "mo" else service
    space.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps({"spec": spec}))


def uid(space: Namespace) -> str | None:
    """Return the uid of the LogSet ``part``; None between two of them."""
    return space.get("logset", "part").get("metadata", {}).get("uid")


def test_volumes_are_let_go_of_and_taken_back(space):
    """Delete, Retain, Delete, Retain: who goes with whom follows each time, and no Pod restarts."""
    make(space, "turn")
    pods = {name for name in space.names("pods") if "turn" in name}
    owned = names("turn", "StatefulSet", "LogSet")
    assert claims(space, "turn") == owned

    for policy, wanted in [("Retain", names("turn")), ("Delete", owned), ("Retain", names("turn"))]:
        retention(space, "mo", "turn", policy)
        eventually(lambda wanted=wanted: claims(space, "turn") == wanted)
        space.wait("Ready", name="turn")
        space.wait("Synced", name="turn")
    assert {name for name in space.names("pods") if "turn" in name} == pods

    space.kubectl("delete", "mo", "turn", "--cascade=foreground", "--timeout=120s")
    time.sleep(2)
    assert claims(space, "turn") == names("turn")


def test_a_log_service_that_is_deleted_alone_comes_back_with_its_volumes(space):
    """The policy is Delete, and says what becomes of the data at the end of the cluster."""
    make(space, "part")
    owned = names("part", "StatefulSet", "LogSet")
    before = {one["metadata"]["uid"] for one in space.listed("pvc", INSTANCE.format("part"))}
    first = uid(space)

    space.kubectl("delete", "logset", "part", "--timeout=120s")

    eventually(lambda: uid(space) not in {None, first}, 60)
    space.wait("Ready", name="part")
    eventually(lambda: claims(space, "part") == owned)
    found = {one["metadata"]["uid"] for one in space.listed("pvc", INSTANCE.format("part"))}
    assert found == before

    space.kubectl("delete", "mo", "part", "--timeout=120s")
    eventually(lambda: claims(space, "part") == {})


def test_volumes_taken_back_go_with_their_cluster(space):
    [resource] = make(space, "back")
    retention(space, "mo", "back", "Retain")
    eventually(lambda: claims(space, "back") == names("back"))
    space.kubectl("delete", "mo", "back", "--timeout=120s")
    assert claims(space, "back") == names("back")

    space.apply(resource)  # says Delete, and finds what was kept
    space.wait("Ready", name="back")
    eventually(lambda: claims(space, "back") == names("back", "StatefulSet", "LogSet"))
    space.kubectl("delete", "mo", "back", "--timeout=120s")
    eventually(lambda: claims(space, "back") == {})


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
    space.apply(log_set)
    space.wait("Ready", kind="logset", name="chain")
    assert claims(space, "chain") == {"mo-data-chain-log-0": ["StatefulSet"]}
    s3["s3RetentionPolicy"] = "Retain"
    space.apply(log_set)
    eventually(lambda: claims(space, "chain") == {"mo-data-chain-log-0": []})
    s3["s3RetentionPolicy"] = "Delete"
    space.apply(log_set)
    eventually(lambda: claims(space, "chain") == {"mo-data-chain-log-0": ["StatefulSet"]})
    s3["s3RetentionPolicy"] = "Retain"
    space.apply(log_set)
    space.kubectl("delete", "logset", "chain", "--timeout=60s")
    time.sleep(2)
    assert claims(space, "chain") == {"mo-data-chain-log-0": []}


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
        assert claims(space, name) == names(name, "StatefulSet", "LogSet")

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
