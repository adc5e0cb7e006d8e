# SPDX-License-Identifier: Apache-2.0
"""Changes that go well, changes that do not, and how they are mended: on fake nodes."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually, unchanged

from .conftest import tiny_cluster

pytestmark = pytest.mark.api


@pytest.fixture(scope="module")
def storage_class(space: Namespace) -> Iterator[str]:
    """A StorageClass that nobody else uses."""
    made = space.get("storageclass", "standard")
    made["metadata"] = {"name": f"class-of-{space.name}"}
    space.bed.kubectl("apply", "-f", "-", input=json.dumps(made))
    yield made["metadata"]["name"]
    space.bed.kubectl("delete", "storageclass", made["metadata"]["name"])


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: object, storage_class: str) -> Iterator[dict[str, Any]]:
    """A cluster whose image could not be pulled at first; taken away at the end."""
    resource = tiny_cluster(space.name)
    resource["spec"]["logService"]["volume"]["storageClassName"] = storage_class
    resource["spec"]["version"] = "broken"
    resource["spec"]["tn"] |= {
        "cacheVolume": {"size": "1Gi"},
        "sharedStorageCache": {"diskCacheSize": "512Mi"},
    }
    space.apply(resource)
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


@pytest.fixture
def settled(space: Namespace, cluster: dict[str, Any], storage_class: str) -> dict[str, Any]:
    """The cluster with an image that can be pulled, whatever a test before left behind."""
    let_grow(space, storage_class, "true")
    if cluster["spec"]["version"] == "broken":
        cluster["spec"]["version"] = "1.3.0"
    space.apply(cluster)
    space.wait("Synced")
    space.wait("Ready")
    return cluster


def images(space: Namespace, component: str) -> dict[str, str]:
    """Return the image's tag by Pod."""
    return {
        one["metadata"]["name"]: one["spec"]["containers"][0]["image"].rpartition(":")[2]
        for one in space.listed("pods", f"matrixorigin.io/component={component}")
    }


def notes(space: Namespace, kind: str, reason: str) -> list[str]:
    """Return what was told about resources of a kind, in order."""
    return [
        one["note"]
        for one in space.events()
        if one["regarding"]["kind"] == kind and one["reason"] == reason
    ]


def change(space: Namespace, cluster: dict[str, Any], **fields: Any) -> None:
    cluster["spec"].update(fields)
    space.apply(cluster)


def test_a_cluster_that_began_with_a_bad_image_comes_up_with_a_good_one(space, cluster):
    """All log stores are replaced together: none of them comes up alone."""
    eventually(lambda: _true(space.condition("mo", "mo", "Degraded")))
    names = [f"mo-log-{number} (ImagePullBackOff" for number in range(3)]
    told = eventually(lambda: _naming(space.condition("mo", "mo", "Degraded"), names))
    assert told["reason"] == "RolloutStuck"
    cause = "ImagePullBackOff of matrixorigin/matrixone:broken: the test bed does not have this"
    assert f"mo-log-0 ({cause}" in told["message"]

    change(space, cluster, version="1.3.0")
    space.wait("Ready")
    space.wait("Synced")

    assert notes(space, "LogSet", "ReplacingPods") == ["replacing mo-log-2, mo-log-1, mo-log-0"]
    assert space.condition("mo", "mo", "Degraded")["status"] == "False"


def _true(condition: dict[str, Any]) -> dict[str, Any]:
    return condition if condition.get("status") == "True" else {}


def _naming(condition: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return the condition once its message has all of them: kubelets tell of one Pod at a time."""
    return condition if all(name in condition.get("message", "") for name in names) else {}


def test_an_image_that_cannot_be_pulled_replaces_no_pod_and_a_good_one_goes_on(space, settled):
    """All Pods serve on: the node of the first one tries to pull the image before.

    Each log store is given its time: the seconds alone restart nothing, and say when the next one
    may go.
    """
    service = settled["spec"]["logService"]
    before = uids(space)
    _ask_for_patience(space, settled)
    change(space, settled, version="broken")

    told = eventually(lambda: _true(space.condition("logset", "mo", "Degraded")))
    wanted = r"waiting for node \S+ to pull \S+:broken before (mo-log-\d) is replaced: "
    cause = "ImagePullBackOff of matrixorigin/matrixone:broken: the test bed does not have this"
    found = re.match(wanted + cause, told["message"])
    assert found, told
    assert told["reason"] == "RolloutStuck"
    said = space.condition("logset", "mo", "Synced")
    assert (said["status"], said["reason"]) == ("False", "RollingOut")
    space.wait("Ready")
    assert uids(space) == before
    [job] = space.listed("jobs", "matrixorigin.io/image-pull")

    change(space, settled, version="1.3.1")
    awaited = [f"waiting for {found[1]} to be ready for 8 s"]
    eventually(lambda: _naming(space.condition("logset", "mo", "Synced"), awaited))
    eventually(lambda: set(images(space, "LogSet").values()) == {"1.3.1"})
    space.wait("Synced")
    for component in ("LogSet", "DNSet", "CNSet", "ProxySet"):
        assert set(images(space, component).values()) == {"1.3.1"}, component
    replaced, left = zip(
        *(note.partition(";")[::2] for note in notes(space, "LogSet", "ReplacingPods")[-3:]),
        strict=True,
    )
    assert replaced[0] == f"replacing {found[1]}"
    assert sorted(replaced) == [f"replacing mo-log-{number}" for number in range(3)]
    assert left == (" 2 more to replace", " 1 more to replace", "")
    remaining = space.listed("jobs", "matrixorigin.io/image-pull")
    assert job["metadata"]["name"] not in {one["metadata"]["name"] for one in remaining}
    times = [_made_and_ready(space, note.removeprefix("replacing ")) for note in replaced]
    pauses = [made - ready for (_, ready), (made, _) in pairwise(times)]
    assert all(7 <= pause <= 40 for pause in pauses), pauses  # times are whole seconds

    change(space, settled, logService=service)
    space.wait("Synced")


def _ask_for_patience(space: Namespace, cluster: dict[str, Any]) -> None:
    """Let log stores be ready for 8 s before they count, and compute nodes for 2 s."""
    before, spec = uids(space), cluster["spec"]
    patient = {**spec["logService"], "minReadySeconds": 8}
    groups = [{**group, "minReadySeconds": 2} for group in spec["cnGroups"]]
    change(space, cluster, logService=patient, cnGroups=groups)
    eventually(lambda: space.get("statefulset", "mo-log")["spec"]["minReadySeconds"] == 8)
    eventually(lambda: space.get("deployment", "mo-tp-cn")["spec"]["minReadySeconds"] == 2)
    space.wait("Synced")
    assert uids(space) == before


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _made_and_ready(space: Namespace, pod: str) -> tuple[float, float]:
    """Return when a Pod was made, and since when it is ready (Unix time)."""
    found = space.get("pod", pod)
    ready = next(one for one in found["status"]["conditions"] if one["type"] == "Ready")
    made = found["metadata"]["creationTimestamp"]
    return _moment(made), _moment(ready["lastTransitionTime"])


def uids(space: Namespace) -> dict[str, str]:
    """Return what tells Pods of the database from their namesakes, by name."""
    listed = space.listed("pods", "matrixorigin.io/component")
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in listed}


def test_a_partition_holds_a_roll_and_the_spec_of_before_takes_it_back(space, settled):
    """Only what was changed is replaced, on the way there and on the way back."""
    before, version = uids(space), settled["spec"]["version"]
    service = settled["spec"]["logService"]
    staged = {**service, "updateStrategy": {"partition": 2}}
    change(space, settled, version="1.3.7", logService=staged)

    held = "held at partition 2: 1/3 log stores run what the spec asks for"
    said = eventually(lambda: _naming(space.condition("logset", "mo", "Synced"), [held]))
    assert (said["status"], said["reason"]) == ("False", "Paused")
    assert space.condition("logset", "mo", "Progressing")["status"] == "False"
    assert space.condition("logset", "mo", "Ready")["status"] == "True"
    eventually(lambda: _naming(space.condition("dnset", "mo", "Progressing"), [held]))
    eventually(lambda: _naming(space.condition("mo", "mo", "Synced"), [held]))
    assert images(space, "LogSet") == {
        "mo-log-0": version,
        "mo-log-1": version,
        "mo-log-2": "1.3.7",
    }
    after = uids(space)
    assert {name for name in before if after.get(name) != before[name]} == {"mo-log-2"}

    change(space, settled, version=version)
    space.wait("Synced")
    assert set(images(space, "LogSet").values()) == {version}
    back = uids(space)
    assert {name for name in after if back.get(name) != after[name]} == {"mo-log-2"}

    change(space, settled, logService=service)
    space.wait("Synced")
    assert uids(space) == back


def test_a_partition_that_is_lowered_lets_the_roll_go_on(space, settled):
    """Step by step, and in the end everything behind it."""
    service = settled["spec"]["logService"]
    for partition, counted in ((2, "1/3"), (1, "2/3")):
        staged = {**service, "updateStrategy": {"partition": partition}}
        change(space, settled, version="1.3.8", logService=staged)
        held = f"held at partition {partition}: {counted}"
        eventually(lambda h=held: _naming(space.condition("logset", "mo", "Synced"), [h]))
        assert "1.3.8" not in images(space, "DNSet").values()

    change(space, settled, logService=service)
    space.wait("Synced")
    for component in ("LogSet", "DNSet", "CNSet", "ProxySet"):
        assert set(images(space, component).values()) == {"1.3.8"}, component


def claims(space: Namespace, pod: str) -> dict[str, tuple[str, str, str]]:
    """Return uid, wanted and present size of the claims of a set, by name."""
    listed = space.listed("pvc")
    return {
        one["metadata"]["name"]: (
            one["metadata"]["uid"],
            one["spec"]["resources"]["requests"]["storage"],
            one["status"]["capacity"]["storage"],
        )
        for one in listed
        if one["metadata"]["name"].startswith(f"mo-data-{pod}-")
    }


def test_volumes_grow_under_running_pods(space, settled):
    """Claims and claim templates have the new size; no Pod and no claim was replaced."""
    running, before = uids(space), claims(space, "mo-log") | claims(space, "mo-dn")
    old = {name: space.get("statefulset", name)["metadata"]["uid"] for name in ("mo-log", "mo-dn")}
    settled["spec"]["logService"]["volume"]["size"] = "2Gi"
    settled["spec"]["tn"]["cacheVolume"]["size"] = "3Gi"
    space.apply(settled)
    space.wait("Synced")

    grown = claims(space, "mo-log") | claims(space, "mo-dn")
    assert {name: uid for name, (uid, _, _) in grown.items()} == {
        name: uid for name, (uid, _, _) in before.items()
    }
    for name, (_uid, wanted, present) in grown.items():
        assert wanted == present == ("2Gi" if "-log-" in name else "3Gi")
    assert uids(space) == running
    for name, size in (("mo-log", "2Gi"), ("mo-dn", "3Gi")):
        made = space.get("statefulset", name)
        assert made["metadata"]["uid"] != old[name]
        (template,) = made["spec"]["volumeClaimTemplates"]
        assert template["spec"]["resources"]["requests"]["storage"] == size
        policy = made["spec"]["persistentVolumeClaimRetentionPolicy"]
        fate = "Retain" if name == "mo-log" else "Delete"
        assert policy == {"whenDeleted": fate, "whenScaled": fate}


def test_a_stateful_set_that_lost_its_way_is_made_again(space, settled):
    """That is what an operator finds that was stopped in the middle of growing volumes."""
    running = uids(space)
    space.kubectl("delete", "statefulset", "mo-log", "--cascade=orphan")

    eventually(
        lambda: space.get("statefulset", "mo-log").get("status", {}).get("readyReplicas") == 3
    )
    space.wait("Synced", "logset")
    assert uids(space) == running


def test_volumes_that_cannot_grow_are_told_and_stop_nothing_else(space, settled, storage_class):
    """The class decides; everything else that the spec asks for is done."""
    before = claims(space, "mo-log")
    let_grow(space, storage_class, "false")
    settled["spec"]["logService"]["volume"]["size"] = "5Gi"
    change(space, settled, version="1.3.2")
    told = eventually(lambda: _because(space.condition("logset", "mo", "Synced"), "VolumeRefused"))
    assert "mo-data-mo-log-" in told["message"]
    assert "storageclass" in told["message"]
    eventually(lambda: space.condition("logset", "mo", "Progressing")["status"] == "False")
    eventually(lambda: set(images(space, "CNSet").values()) == {"1.3.2"})
    assert claims(space, "mo-log") == before
    eventually(lambda: space.condition("mo", "mo", "Ready")["status"] == "True")
    eventually(lambda: _because(space.condition("mo", "mo", "Stalled"), "VolumeRefused"))

    settled["spec"]["logService"]["volume"]["size"] = "2Gi"
    space.apply(settled)
    space.wait("Synced")
    assert space.condition("mo", "mo", "Stalled") == {}

    settled["spec"]["logService"]["volume"]["size"] = "5Gi"
    space.apply(settled)
    eventually(lambda: _because(space.condition("logset", "mo", "Synced"), "VolumeRefused"))
    let_grow(space, storage_class, "true")
    space.kubectl("annotate", "logset", "mo", "look=1")
    space.wait("Synced")
    assert {size for _, _, size in claims(space, "mo-log").values()} == {"5Gi"}


def let_grow(space: Namespace, storage_class: str, flag: str) -> None:
    patch = f'{{"allowVolumeExpansion": {flag}}}'
    space.bed.kubectl("patch", "storageclass", storage_class, "-p", patch)


def _because(condition: dict[str, Any], reason: str) -> dict[str, Any]:
    return condition if condition.get("reason") == reason else {}


@pytest.mark.parametrize(
    ("name", "patch"),
    [
        ("mo-proxy", {"type": "NodePort", "selector": {"matrixorigin.io/instance": "other"}}),
        ("mo-tp-cn", {"ports": [{"port": 6001, "targetPort": 22}]}),
        ("mo-log-headless", {"publishNotReadyAddresses": False}),
        ("mo-dn-headless", {"selector": {"matrixorigin.io/component": "CNSet"}}),
        ("mo-log-discovery", {"ports": [{"port": 32001, "targetPort": 22}]}),
        ("mo-log-discovery", {"type": "LoadBalancer"}),
    ],
)
def test_service_that_somebody_changes_is_put_right(space, settled, name, patch):
    """What the operator has set is its own, on Services for clients and between the components."""
    before = space.get("service", name)
    space.kubectl("patch", "service", name, "--type=strategic", "-p", json.dumps({"spec": patch}))

    eventually(lambda: space.get("service", name)["spec"] == before["spec"])


def test_load_balancer_of_the_proxy_comes_and_goes(space, settled):
    """What is taken out of the spec is taken off the Service."""
    fields = {
        "externalTrafficPolicy": "Local",
        "loadBalancerClass": "lb.example/fast",
        "loadBalancerSourceRanges": ["192.0.2.0/24"],
    }
    asked = {**settled, "spec": {**settled["spec"], "proxy": {**settled["spec"]["proxy"]}}}
    asked["spec"]["proxy"] |= {"serviceType": "LoadBalancer", **fields}
    space.apply(asked)

    def service() -> dict[str, Any]:
        return space.get("service", "mo-proxy")["spec"]

    eventually(lambda: service().get("type") == "LoadBalancer")
    assert {name: service().get(name) for name in fields} == fields
    for name in ("loadBalancerSourceRanges", "externalTrafficPolicy"):
        del asked["spec"]["proxy"][name]
    space.apply(asked)
    eventually(lambda: service().get("externalTrafficPolicy") == "Cluster")
    assert not {"loadBalancerSourceRanges", "healthCheckNodePort"} & service().keys()
    assert service()["loadBalancerClass"] == "lb.example/fast"
    space.apply(settled)
    eventually(lambda: service().get("type") == "ClusterIP")
    assert not fields.keys() & service().keys()


def test_idle_passes_tell_nothing(space, settled, operator):
    """Passes over everything, with nothing to do, change nothing and emit no event."""

    def told() -> int:
        found = space.events()
        return sum(one.get("reportingController") == "matrixorigin.io/matrixone" for one in found)

    before = unchanged(lambda: (told(), space.versions()), 4)[0]
    assert before > 0
    passes = _passes(operator)
    for number in range(5):
        for kind, name in SETS:
            space.annotate(kind, name, look=str(number + 10))
    eventually(lambda: _passes(operator) >= passes + len(SETS), what="a pass over each")
    unchanged(lambda: (told(), space.versions()), 4)
    assert told() == before


SETS = (("mo", "mo"), ("logset", "mo"), ("dnset", "mo"), ("cnset", "mo-tp"), ("proxyset", "mo"))


def _passes(log: Path) -> int:
    text = log.read_text()
    return text.count("exited successfully") + text.count("Nothing to do")
