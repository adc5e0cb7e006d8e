# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster's life on a real API server: made, changed, scaled, taken away."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.bed import KubectlError
from tests.early.conftest import Space, eventually
from tests.early.resources import DELETE, KIND, OLD_IMAGE, Json, early

pytestmark = pytest.mark.api

Make = Callable[..., Json]
LISTS = ("statefulSets", "service", "pods", "persistentVolumeClaims")


@pytest.fixture(scope="module")
def mo(space: Space, operator: Path) -> Iterator[Space]:
    """The sample as `mo`, ready; what is measured here is T2."""
    begun = time.monotonic()
    space.apply(early("mo"))
    space.wait("mo")
    assert time.monotonic() - begun < 60
    space.settled("mo")
    yield space
    space.kubectl("delete", KIND, "mo", "--ignore-not-found", "--timeout=60s")


def claims(space: Space, name: str) -> set[str]:
    return {one.partition("/")[2] for one in space.named(name, "pvc")}


def test_t02_the_sample_comes_up(mo: Space) -> None:
    names = {name for name in mo.named("mo") if not name.startswith("configmap/")}
    assert names == {
        "service/mo",
        "service/mo-headless",
        "statefulset/mo",
        "pod/mo-0",
        "persistentvolumeclaim/data-mo-0",
        "persistentvolumeclaim/log-mo-0",
        "networkpolicy/mo",
    }
    assert (
        "deletepvc.finalizers.matrixone.matrixorigin.cn"
        in (mo.cluster("mo")["metadata"]["finalizers"])
    )


def test_t20_status_has_the_four_lists_and_conditions(mo: Space) -> None:
    status = eventually(lambda: mo.cluster("mo")["status"] if _filled(mo) else {})

    assert [status[field] for field in LISTS] == [
        ["mo"],
        ["mo", "mo-headless"],
        ["mo-0"],
        ["data-mo-0", "log-mo-0"],
    ]
    types = {one["type"]: one["status"] for one in status["conditions"]}
    assert types == {
        "Accepted": "True",
        "Ready": "True",
        "Synced": "True",
        "Progressing": "False",
        "Degraded": "False",
    }
    assert (status["phase"], status["runtime"]) == ("Ready", "launch")
    assert status["endpoint"] == f"mo.{mo.name}.svc:6001"
    columns = mo.kubectl("get", KIND, "mo", "--no-headers").split()
    assert columns[:5] == ["mo", "matrixorigin/matrixone:1.3.0", "1", "True", "Ready"]


def _filled(space: Space) -> bool:
    status = space.cluster("mo")["status"]
    return all(status.get(field) for field in LISTS)


def test_t21_the_spec_is_never_written(mo: Space) -> None:
    assert mo.cluster("mo")["metadata"]["generation"] == 1


def test_creation_is_told_object_by_object(mo: Space) -> None:
    notes = [
        note
        for kind, reason, note in mo.events("mo")
        if (kind, reason) == ("Normal", "MatrixoneOperatorCreateSuccess")
    ]
    for made in ("Service mo", "Service mo-headless", "StatefulSet mo"):
        assert f"created {made} in namespace {mo.name}" in notes


def test_passes_that_change_nothing_tell_nothing(mo: Space, operator: Path) -> None:
    """Not even when they are asked for."""
    before, passes = mo.events("mo"), _passes(operator)
    version = mo.cluster("mo")["status"]
    mo.touch("mo")
    eventually(lambda: _passes(operator) > passes)
    mo.touch("mo")
    eventually(lambda: _passes(operator) > passes + 1)
    assert mo.events("mo") == before
    assert mo.cluster("mo")["status"] == version


def _passes(log: Path) -> int:
    return log.read_text().count("exited successfully")


def test_t14_a_new_image_is_rolled_out(mo: Space) -> None:
    uid = mo.get("pod", "mo-0")["metadata"]["uid"]
    mo.patch("mo", image="matrixorigin/matrixone:1.3.1")
    mo.settled("mo")
    mo.wait("mo")

    pod = mo.get("pod", "mo-0")
    assert pod["spec"]["containers"][0]["image"] == "matrixorigin/matrixone:1.3.1"
    assert pod["metadata"]["uid"] != uid
    told = [note for _, reason, note in mo.events("mo") if reason == "MatrixoneUpdateSuccess"]
    assert told == [f"changed StatefulSet mo in namespace {mo.name}"]
    assert mo.cluster("mo")["status"]["version"] == "1.3.1"


def test_t15_the_service_changes_its_type_and_keeps_its_address(mo: Space) -> None:
    before = mo.get("service", "mo")["spec"]
    for kind in ("NodePort", "ClusterIP"):
        mo.patch("mo", serviceType=kind)
        eventually(lambda kind=kind: mo.get("service", "mo")["spec"]["type"] == kind)
    after = mo.get("service", "mo")["spec"]
    assert after["clusterIP"] == before["clusterIP"]
    assert [port.get("nodePort") for port in after["ports"]] == [None]


def test_t16_volumes_grow_under_the_same_pod(mo: Space) -> None:
    pod, old = mo.get("pod", "mo-0"), mo.get("statefulset", "mo")
    mo.patch("mo", dataVolumeCap="20Gi")
    mo.settled("mo")
    live = eventually(
        lambda: (
            one
            if (one := mo.get("statefulset", "mo")) and one["metadata"]["uid"] != _uid(old)
            else {}
        )
    )

    sizes = {
        one["metadata"]["name"]: one["spec"]["resources"]["requests"]["storage"]
        for one in live["spec"]["volumeClaimTemplates"]
    }
    assert sizes == {"data": "20Gi", "log": "10Gi"}
    claim = mo.get("pvc", "data-mo-0")["spec"]["resources"]["requests"]["storage"]
    assert claim == "20Gi"
    # The configuration has a larger share for the cache now, so there is one restart, by roll-out.
    mo.wait("mo")
    assert mo.get("pvc", "data-mo-0")["metadata"].get("deletionTimestamp") is None
    assert pod["metadata"]["name"] == mo.get("pod", "mo-0")["metadata"]["name"]


def _uid(one: Json) -> str:
    return str(one["metadata"]["uid"])


def test_t16_shrinking_is_refused_with_a_condition(mo: Space) -> None:
    mo.patch("mo", dataVolumeCap="15Gi")
    refused = eventually(
        lambda: one if (one := mo.condition("mo", "Accepted")).get("status") == "False" else {}
    )
    assert refused["reason"] == "VolumeShrinkRefused"
    assert "data-mo-0" in refused["message"]
    mo.wait("mo")
    mo.patch("mo", dataVolumeCap="20Gi")
    eventually(lambda: mo.condition("mo", "Accepted")["status"] == "True")


def test_t17_a_deleted_service_comes_back(mo: Space) -> None:
    old = _uid(mo.get("service", "mo"))
    mo.kubectl("delete", "service", "mo")
    eventually(lambda: (one := mo.get("service", "mo")) and _uid(one) != old, 30)


def test_t18_scaling_by_hand_is_reverted(mo: Space) -> None:
    mo.kubectl("scale", "statefulset", "mo", "--replicas=2")
    eventually(lambda: mo.get("statefulset", "mo")["spec"]["replicas"] == 1, 30)
    eventually(lambda: not mo.get("pod", "mo-1"), 30)


def test_t41_a_second_database_is_refused(mo: Space) -> None:
    uid = _uid(mo.get("pod", "mo-0"))
    mo.patch("mo", replicas=2)
    eventually(lambda: mo.condition("mo", "Accepted").get("reason") == "UnsupportedReplicas")
    assert mo.get("statefulset", "mo")["spec"]["replicas"] == 1
    assert _uid(mo.get("pod", "mo-0")) == uid
    assert mo.condition("mo", "Ready")["status"] == "True"
    assert ("Warning", "UnsupportedReplicas") in [one[:2] for one in mo.events("mo")]


def test_t10_replicas_that_are_taken_away_are_one(mo: Space) -> None:
    mo.kubectl(
        "patch", KIND, "mo", "--type=json", "-p", '[{"op":"remove","path":"/spec/replicas"}]'
    )
    assert mo.cluster("mo")["spec"]["replicas"] == 1
    mo.settled("mo")


def test_t40_stopping_keeps_the_claims(mo: Space) -> None:
    kept = {name: _uid(mo.get("pvc", name)) for name in claims(mo, "mo")}
    mo.patch("mo", replicas=0)
    eventually(lambda: mo.condition("mo", "Ready").get("reason") == "Stopped")
    eventually(lambda: not mo.get("pod", "mo-0"))
    mo.patch("mo", replicas=1)
    mo.wait("mo")
    assert {name: _uid(mo.get("pvc", name)) for name in claims(mo, "mo")} == kept


def test_t34_every_change_is_told_at_most_once(mo: Space) -> None:
    mo.settled("mo")
    before = mo.reasons("mo").count("MatrixoneUpdateSuccess")
    for number in range(30):
        mo.patch("mo", podAnnotations={"number": str(number)})
    live = eventually(
        lambda: (
            one
            if (one := mo.get("statefulset", "mo"))["spec"]["template"]["metadata"].get(
                "annotations"
            )
            == {"number": "29"}
            else {}
        )
    )
    assert live
    told = mo.reasons("mo").count("MatrixoneUpdateSuccess") - before
    assert 1 <= told <= 30


def test_a_refusal_is_told_once_and_mended(mo: Space) -> None:
    """The API server refuses the StatefulSet; the message names the field."""
    mo.patch("mo", nodeSelector={"a b": "c"})
    eventually(lambda: mo.condition("mo", "Synced").get("reason") == "ApplyFailed")
    time.sleep(3)
    failed = [note for _, reason, note in mo.events("mo") if reason == "MatrixoneUpdateFail"]
    assert len(failed) == 1
    assert "nodeSelector" in failed[0]
    mo.patch("mo", nodeSelector=None)
    mo.settled("mo")


def test_t04_t26_deleting_takes_data_and_all(mo: Space) -> None:
    mo.kubectl("delete", KIND, "mo", "--timeout=60s")
    eventually(lambda: not mo.named("mo"))
    told = [note for _, reason, note in mo.events("mo") if reason == "MatrixoneDeleteSuccess"]
    for gone in ("StatefulSet mo", "Service mo", "PersistentVolumeClaim data-mo-0"):
        assert f"deleted {gone} in namespace {mo.name}" in told
    assert "MatrixoneUpdateFail" not in mo.reasons("mo")[-3:]


@pytest.mark.parametrize("field", ["image", "dataVolumeCap", "logVolumeCap"])
def test_t07_t08_what_is_needed_is_asked_for(space: Space, field: str) -> None:
    with pytest.raises(KubectlError, match=rf"spec.{field}: Required value"):
        space.apply(early("bad", **{field: DELETE}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"dataVolumeCap": "lots"}, "spec.dataVolumeCap"),
        ({"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy"),
    ],
    ids=["T9 negative", "T7 malformed", "pull policy"],
)
def test_t07_t09_what_means_nothing_is_refused(space: Space, change: Json, message: str) -> None:
    with pytest.raises(KubectlError, match=message):
        space.apply(early("bad", **change))


def test_t06_pod_name_may_be_left_out(space: Space, made: Make) -> None:
    made(early("plain", podName=DELETE))
    env = space.get("pod", "plain-0")["spec"]["containers"][0]["env"]
    assert env[2]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"


def test_t11_t12_t13_claims_and_scaling(space: Space, made: Make) -> None:
    """Up nothing goes; down only what is surplus, where asked for; to 0 nothing."""
    made(early("old", image=OLD_IMAGE))
    both = {f"{kind}-old-{n}" for n in range(3) for kind in ("data", "log")}
    first = {"data-old-0", "log-old-0"}

    space.patch("old", replicas=3)
    eventually(lambda: claims(space, "old") == both)
    uids = {name: _uid(space.get("pvc", name)) for name in both}
    space.settled("old")
    space.patch("old", replicas=1)
    space.settled("old")
    eventually(lambda: not space.get("pod", "old-2"))
    assert claims(space, "old") == both, "T11: without the option they stay"

    space.patch("old", deleteOrphanPvc=True, replicas=3)
    space.settled("old")
    assert {name: _uid(space.get("pvc", name)) for name in claims(space, "old")} == uids, "T12 up"
    space.patch("old", replicas=1)
    eventually(lambda: claims(space, "old") == first)

    space.patch("old", replicas=0)
    space.settled("old")
    eventually(lambda: not space.get("pod", "old-0"))
    time.sleep(2)
    assert {name: _uid(space.get("pvc", name)) for name in claims(space, "old")} == {
        name: uids[name] for name in first
    }, "T13"


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
    uid = _uid(space.cluster("gate"))
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
    assert space.get("service", "owned"), "T22: tidying up waits"

    set_status(space, "gate-0", ready=True)
    space.touch("gate")
    eventually(lambda: not space.get("service", "owned"))
    assert space.get("service", "foreign"), "T19: what it does not own stays"
    assert f"deleted Service owned in namespace {space.name}" in [
        note for _, reason, note in space.events("gate") if reason == "MatrixoneDeleteSuccess"
    ]

    # T24: a Pod of which nothing is known yet must not harm anybody.
    remove = '[{"op":"remove","path":"/status/containerStatuses"}]'
    live = space.get("pod", "gate-0")["status"]["containerStatuses"]
    space.kubectl("patch", "pod", "gate-0", "--subresource=status", "--type=json", "-p", remove)
    passes = _passes(operator)
    space.touch("gate")
    eventually(lambda: _passes(operator) > passes)
    back = json.dumps({"status": {"containerStatuses": live}})
    space.kubectl("patch", "pod", "gate-0", "--subresource=status", "--type=merge", "-p", back)

    # T23: the old Pod crashes, so that OrderedReady would wait for it for ever.
    broken = _uid(space.get("pod", "gate-0"))
    set_status(space, "gate-0", ready=False, restarts=2)
    eventually(lambda: space.get("statefulset", "gate")["status"].get("readyReplicas", 0) == 0)
    space.patch("gate", image="matrixorigin/matrixone:1.3.1")
    eventually(
        lambda: (one := space.get("pod", "gate-0")) and _uid(one) != broken and one["status"], 90
    )
    space.wait("gate")
    told = space.events("gate")
    assert f"deleted Pod gate-0 in namespace {space.name}" in [note for _, _, note in told]
    waits = [note for _, reason, note in told if reason == "MatrixoneRollingDeployWait"]
    assert 1 <= len(waits) <= 2, "at most once for each of the two revisions"
    space.kubectl("delete", "service", "foreign")


@pytest.mark.parametrize("later", [False, True], ids=["T27 from the start", "T28 set later"])
def test_t27_t28_claims_stay_where_the_flag_says_so(space: Space, made: Make, later: bool) -> None:
    name = "later" if later else "kept"
    made(early(name, disablePVCDeletionFinalizer=not later))
    if later:
        space.patch(name, disablePVCDeletionFinalizer=True)
    space.kubectl("delete", KIND, name, "--timeout=60s")

    eventually(lambda: not space.named(name, "statefulset,service,pod,configmap"))
    assert claims(space, name) == {f"data-{name}-0", f"log-{name}-0"}
    assert not any(
        space.get("pvc", claim)["metadata"].get("deletionTimestamp")
        for claim in claims(space, name)
    )


def test_t44_what_the_first_operator_made_is_taken_over(space: Space, made: Make) -> None:
    """Names, claims and finalizer stay; obsolete ports go; the Pod restarts at most once."""
    name, finalizer = "adopted", "deletepvc.finalizers.matrixone.matrixorigin.cn"
    resource = early(name)
    resource["metadata"]["finalizers"] = [finalizer]
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    made(resource, wait=False)
    uid = _uid(space.cluster(name))
    for manifest in first_operators(name, uid):
        space.kubectl("create", "--field-manager=manager", "-f", "-", input=json.dumps(manifest))
    eventually(lambda: space.get("pod", f"{name}-0").get("status", {}).get("podIP"))
    before = {claim: _uid(space.get("pvc", claim)) for claim in claims(space, name)}
    address = space.get("service", name)["spec"]["clusterIP"]
    assert len(before) == 2

    space.kubectl("annotate", KIND, name, "matrixorigin.io/paused-")
    space.wait(name)
    space.settled(name)
    assert {claim: _uid(space.get("pvc", claim)) for claim in claims(space, name)} == before
    assert space.get("service", name)["spec"]["clusterIP"] == address
    headless = space.get("service", f"{name}-headless")["spec"]["ports"]
    assert [one["name"] for one in headless] == ["server", "metrics"]
    (main,) = space.get("statefulset", name)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in main["ports"]] == ["server", "metrics"]
    assert [one["name"] for one in main["env"]] == ["FIRST_NODE", "SERVICE_NAME", "POD_NAME"]
    assert space.get("statefulset", name)["metadata"]["generation"] == 2, "one change"
    space.kubectl("delete", KIND, name, "--timeout=60s")
    eventually(lambda: not space.named(name))


def first_operators(name: str, uid: str) -> list[Json]:
    """Objects as the first operator made them (seeds.md A2), written by plain creation."""
    labels = {"app": "matrixone", "matrixone_cr": name}
    metadata: Json = {
        "labels": labels,
        "annotations": {"matrixoneOpResourceHash": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="},
        "ownerReferences": [
            {
                "apiVersion": "matrixone.matrixorigin.cn/v1alpha1",
                "kind": "MatrixoneCluster",
                "name": name,
                "uid": uid,
                "controller": True,
            }
        ],
    }
    ports = {"server": 6001, "addr-raft": 10000, "addr-client": 20000, "rpc": 30000}
    container = {
        "name": name,
        "image": OLD_IMAGE,
        "env": [
            {"name": "FIRST_NODE", "value": "x"},
            {"name": "SERVICE_NAME", "value": "y"},
            {"name": "POD_NAME", "value": "z"},
        ],
        "ports": [{"name": key, "containerPort": port} for key, port in ports.items()],
        "volumeMounts": [
            {"name": "data", "mountPath": "/store"},
            {"name": "log", "mountPath": "/log"},
        ],
    }
    storage = {"requests": {"storage": "10Gi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": storage}
    stateful_set = {
        "serviceName": f"{name}-headless",
        "replicas": 1,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        "volumeClaimTemplates": [
            {"metadata": {"name": key, "labels": labels}, "spec": claim} for key in ("data", "log")
        ],
    }
    listed = [{"name": key, "port": port, "targetPort": port} for key, port in ports.items()]
    client = {"selector": labels, "ports": listed[:1]}
    headless = {"clusterIP": "None", "selector": labels, "ports": listed}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, **metadata},
            "spec": client,
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{name}-headless", **metadata},
            "spec": headless,
        },
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": name, **metadata},
            "spec": stateful_set,
        },
    ]


def test_without_its_group_kubectl_means_the_other_kind(space: Space) -> None:
    """Both kinds answer to `matrixonecluster`."""
    said = space.kubectl("explain", "matrixonecluster")
    assert "core.matrixorigin.io" in said
    assert "matrixone.matrixorigin.cn" in space.kubectl("explain", KIND)
