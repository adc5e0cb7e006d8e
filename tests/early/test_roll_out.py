# SPDX-License-Identifier: Apache-2.0
"""The gate of a roll-out, help for crashing Pods, and taking over from the first operator."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.early.conftest import Space, claims, passes, uid_of
from tests.early.first_operator import first_operators
from tests.early.resources import KIND, Json, early
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

Make = Callable[..., Json]


def stray(space: Space, name: str, owner: str, uid: str) -> None:
    """A Service with the labels of a MatrixoneCluster, owned by it if there is an uid."""
    metadata: Json = {"name": name, "labels": {"app": "matrixone", "matrixone_cr": owner}}
    if uid:
        version = "matrixone.matrixorigin.cn/v1alpha1"
        metadata["ownerReferences"] = [
            {"apiVersion": version, "kind": "MatrixoneCluster", "name": owner, "uid": uid}
        ]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    service["spec"] = {"ports": [{"port": 1}]}
    space.kubectl("apply", "-f", "-", input=json.dumps(service))


def set_status(space: Space, pod: str, *, ready: bool, restarts: int = 0) -> None:
    """Play what a kubelet would report of a Pod."""
    live = space.get("pod", pod)
    word = str(ready)
    conditions = [
        {**one, "status": word} if one["type"] in {"Ready", "ContainersReady"} else one
        for one in live["status"]["conditions"]
    ]
    containers = [
        {**one, "ready": ready, "restartCount": restarts}
        for one in live["status"]["containerStatuses"]
    ]
    status = {"conditions": conditions, "containerStatuses": containers}
    body = json.dumps({"status": status})
    space.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", body)


def test_t19_t22_t23_t24_a_roll_out_with_its_gate(space: Space, made: Make, operator: Path) -> None:
    forced = {
        "rollingDeploy": True,
        "forceDeleteStsPodOnError": True,
        "podManagementPolicy": "OrderedReady",
    }
    made(early("gate", **forced))
    uid = uid_of(space.cluster("gate"))
    eventually(lambda: space.condition("gate", "Progressing").get("status") == "False")
    stray(space, "foreign", "gate", "")
    set_status(space, "gate-0", ready=False)
    stray(space, "owned", "gate", uid)
    space.touch("gate")
    awaited = eventually(
        lambda: (
            one
            if (one := space.condition("gate", "Progressing")).get("reason") == "WaitingForRollOut"
            else {}
        )
    )
    assert awaited["status"] == "True"
    time.sleep(3)
    assert space.get("service", "owned"), "T22: cleanup waits"

    set_status(space, "gate-0", ready=True)
    space.touch("gate")
    eventually(lambda: not space.get("service", "owned"))
    assert space.get("service", "foreign"), "T19: what it does not own stays"
    told = ("MatrixoneDeleteSuccess", f"deleted Service owned in namespace {space.name}")
    eventually(lambda: told in [(reason, note) for _, reason, note in space.events("gate")])

    # T24: a Pod of which nothing is known yet must not harm anybody.
    remove = '[{"op":"remove","path":"/status/containerStatuses"}]'
    live = space.get("pod", "gate-0")["status"]["containerStatuses"]
    space.kubectl("patch", "pod", "gate-0", "--subresource=status", "--type=json", "-p", remove)
    seen = passes(operator)
    space.touch("gate")
    eventually(lambda: passes(operator) > seen)
    back = json.dumps({"status": {"containerStatuses": live}})
    space.kubectl("patch", "pod", "gate-0", "--subresource=status", "--type=merge", "-p", back)

    # T23: the old Pod crashes, so that OrderedReady would wait for it for ever.
    broken = uid_of(space.get("pod", "gate-0"))
    set_status(space, "gate-0", ready=False, restarts=2)
    eventually(lambda: space.get("statefulset", "gate")["status"].get("readyReplicas", 0) == 0)
    space.patch("gate", image="matrixorigin/matrixone:3.0.19")
    eventually(
        lambda: (one := space.get("pod", "gate-0")) and uid_of(one) != broken and one["status"], 90
    )
    space.wait("gate")
    told = space.events("gate")
    assert f"deleted Pod gate-0 in namespace {space.name}" in [note for _, _, note in told]
    waits = [note for _, reason, note in told if reason == "MatrixoneRollingDeployWait"]
    assert 1 <= len(waits) <= 2, "at most once for each of the two revisions"
    space.kubectl("delete", "service", "foreign")


def test_t44_what_the_first_operator_made_is_taken_over(space: Space, made: Make) -> None:
    """Names, claims and finalizer stay; obsolete ports go; the Pod restarts at most once."""
    name, finalizer = "adopted", "deletepvc.finalizers.matrixone.matrixorigin.cn"
    resource = early(name)
    resource["metadata"]["finalizers"] = [finalizer]
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    made(resource, wait=False)
    uid = uid_of(space.cluster(name))
    for manifest in first_operators(name, uid):
        space.kubectl("create", "--field-manager=manager", "-f", "-", input=json.dumps(manifest))
    eventually(lambda: space.get("pod", f"{name}-0").get("status", {}).get("podIP"))
    before = {claim: uid_of(space.get("pvc", claim)) for claim in claims(space, name)}
    address = space.get("service", name)["spec"]["clusterIP"]
    assert len(before) == 2

    space.kubectl("annotate", KIND, name, "matrixorigin.io/paused-")
    space.wait(name)
    space.settled(name)
    assert {claim: uid_of(space.get("pvc", claim)) for claim in claims(space, name)} == before
    assert space.get("service", name)["spec"]["clusterIP"] == address
    headless = space.get("service", f"{name}-headless")["spec"]["ports"]
    assert [one["name"] for one in headless] == ["server", "metrics"]
    (main,) = space.get("statefulset", name)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in main["ports"]] == ["server", "metrics"]
    assert [one["name"] for one in main["env"]] == ["FIRST_NODE", "SERVICE_NAME", "POD_NAME"]
    assert space.get("statefulset", name)["metadata"]["generation"] == 2, "one change"
    space.kubectl("delete", KIND, name, "--timeout=60s")
    eventually(lambda: not space.named(name))
