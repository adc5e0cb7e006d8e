# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster's life on a real API server: made, changed, scaled, taken away."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.early.conftest import Space, claims, passes, uid_of
from tests.early.resources import KIND, Json, early
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

Make = Callable[..., Json]
LISTS = ("statefulSets", "service", "pods", "persistentVolumeClaims")


@pytest.fixture(scope="module")
def mo(space: Space, operator: Path) -> Iterator[Space]:
    """The sample as `mo`, ready; what is measured here is T2."""
    space.apply(early("mo"))
    eventually(lambda: "TASK [" in operator.read_text(), 120, "the first pass")
    begun = time.monotonic()
    space.wait("mo")
    assert time.monotonic() - begun < 60
    space.settled("mo")
    yield space
    space.kubectl("delete", KIND, "mo", "--ignore-not-found", "--timeout=60s")


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
    assert columns[:5] == ["mo", "matrixorigin/matrixone:3.0.18", "1", "True", "Ready"]


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
    before, seen = mo.events("mo"), passes(operator)
    version = mo.cluster("mo")["status"]
    mo.touch("mo")
    eventually(lambda: passes(operator) > seen)
    mo.touch("mo")
    eventually(lambda: passes(operator) > seen + 1)
    assert mo.events("mo") == before
    assert mo.cluster("mo")["status"] == version


def test_t14_a_new_image_is_rolled_out(mo: Space) -> None:
    uid = mo.get("pod", "mo-0")["metadata"]["uid"]
    mo.patch("mo", image="matrixorigin/matrixone:3.0.19")
    mo.settled("mo")
    mo.wait("mo")

    pod = mo.get("pod", "mo-0")
    assert pod["spec"]["containers"][0]["image"] == "matrixorigin/matrixone:3.0.19"
    assert pod["metadata"]["uid"] != uid
    told = [note for _, reason, note in mo.events("mo") if reason == "MatrixoneUpdateSuccess"]
    assert told == [f"changed StatefulSet mo in namespace {mo.name}"]
    assert mo.cluster("mo")["status"]["version"] == "3.0.19"


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
            if (one := mo.get("statefulset", "mo")) and one["metadata"]["uid"] != uid_of(old)
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
    old = uid_of(mo.get("service", "mo"))
    mo.kubectl("delete", "service", "mo")
    eventually(lambda: (one := mo.get("service", "mo")) and uid_of(one) != old, 30)


def test_t18_scaling_by_hand_is_reverted(mo: Space) -> None:
    mo.kubectl("scale", "statefulset", "mo", "--replicas=2")
    eventually(lambda: mo.get("statefulset", "mo")["spec"]["replicas"] == 1, 30)
    eventually(lambda: not mo.get("pod", "mo-1"), 30)


def test_t41_a_second_database_is_refused(mo: Space) -> None:
    uid = uid_of(mo.get("pod", "mo-0"))
    mo.patch("mo", replicas=2)
    eventually(lambda: mo.condition("mo", "Accepted").get("reason") == "UnsupportedReplicas")
    assert mo.get("statefulset", "mo")["spec"]["replicas"] == 1
    assert uid_of(mo.get("pod", "mo-0")) == uid
    assert mo.condition("mo", "Ready")["status"] == "True"
    told = ("Warning", "UnsupportedReplicas")
    eventually(lambda: told in [one[:2] for one in mo.events("mo")])


def test_t10_replicas_that_are_taken_away_are_one(mo: Space) -> None:
    mo.kubectl(
        "patch", KIND, "mo", "--type=json", "-p", '[{"op":"remove","path":"/spec/replicas"}]'
    )
    assert mo.cluster("mo")["spec"]["replicas"] == 1
    mo.settled("mo")


def test_t40_stopping_keeps_the_claims(mo: Space) -> None:
    kept = {name: uid_of(mo.get("pvc", name)) for name in claims(mo, "mo")}
    mo.patch("mo", replicas=0)
    eventually(lambda: mo.condition("mo", "Ready").get("reason") == "Stopped")
    eventually(lambda: not mo.get("pod", "mo-0"))
    mo.patch("mo", replicas=1)
    mo.wait("mo")
    assert {name: uid_of(mo.get("pvc", name)) for name in claims(mo, "mo")} == kept


def test_t34_every_change_is_told_once(mo: Space) -> None:
    """Patches that come faster than passes are one change of the StatefulSet, and one Event."""
    mo.settled("mo")
    before = mo.reasons("mo").count("MatrixoneUpdateSuccess")
    changes = mo.get("statefulset", "mo")["metadata"]["generation"]
    for number in range(30):
        mo.patch("mo", podAnnotations={"number": str(number)})

    def last_is_applied() -> bool:
        template = mo.get("statefulset", "mo")["spec"]["template"]["metadata"]
        return template.get("annotations") == {"number": "29"}

    eventually(last_is_applied)
    mo.settled("mo")
    changes = mo.get("statefulset", "mo")["metadata"]["generation"] - changes
    assert changes > 0
    eventually(lambda: mo.reasons("mo").count("MatrixoneUpdateSuccess") - before >= changes, 10)
    assert mo.reasons("mo").count("MatrixoneUpdateSuccess") - before == changes


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


def test_without_its_group_kubectl_means_the_other_kind(space: Space) -> None:
    """Both kinds answer to `matrixonecluster`."""
    said = space.kubectl("explain", "matrixonecluster")
    assert "core.matrixorigin.io" in said
    assert "matrixone.matrixorigin.cn" in space.kubectl("explain", KIND)
