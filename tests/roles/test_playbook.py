# SPDX-License-Identifier: Apache-2.0
"""A cluster's life by playbook alone: no operator, no custom resource definitions needed."""

import base64
import re
import threading
import time
from contextlib import contextmanager
from datetime import datetime

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .compute_nodes import hakeeper, pooled_set
from .conftest import tiny_cluster

pytestmark = [pytest.mark.api, pytest.mark.timeout(900)]  # ten plays take their time

COMPONENT = "matrixorigin.io/component"
WORKLOADS = {
    "statefulset.apps/mo-log",
    "statefulset.apps/mo-dn",
    "deployment.apps/mo-tp-cn",
    "deployment.apps/mo-proxy",
}


def test_life_of_a_cluster(play_cluster, fake_testbed, fake_namespace, objects):
    """Checked, brought up in order, left alone, scaled, stripped of a part, taken away."""
    cluster = tiny_cluster(fake_namespace)

    checked = play_cluster(cluster, "--check", "--diff")
    assert checked.code == 0, checked.output
    assert checked.counts["changed"] == 5
    assert '"kind": "StatefulSet"' in checked.output
    assert objects() == set()

    up = play_cluster(cluster)
    assert up.code == 0, up.output
    assert objects() >= WORKLOADS
    born = {
        pod["metadata"]["labels"][COMPONENT]: pod["metadata"]["creationTimestamp"]
        for pod in Namespace(fake_testbed, fake_namespace).listed("pods", COMPONENT)
    }
    assert born["LogSet"] <= born["DNSet"] <= born["CNSet"] <= born["ProxySet"]

    again = play_cluster(cluster, "--check")
    assert again.code == 0, again.output
    assert again.counts["changed"] == 0, again.output

    cluster["spec"]["cnGroups"][0]["replicas"] = 2
    cluster["spec"]["cnGroups"].append({**cluster["spec"]["cnGroups"][0], "name": "ap"})
    changed = play_cluster(cluster)
    assert changed.code == 0, changed.output
    assert "deployment.apps/mo-ap-cn" in objects()
    ready = fake_testbed.kubectl(
        "-n",
        fake_namespace,
        "get",
        "deployment",
        "mo-tp-cn",
        "-o",
        "jsonpath={.status.readyReplicas}",
    )
    assert ready == "2"

    cluster["spec"]["cnGroups"].pop()
    del cluster["spec"]["proxy"]
    cluster["spec"]["logService"]["replicas"] = 4
    stripped = play_cluster(cluster)
    assert stripped.code == 0, stripped.output
    assert "persistentvolumeclaim/mo-data-mo-log-3" in objects()
    cluster["spec"]["logService"]["replicas"] = 3
    would_leave = play_cluster(cluster, "--check", "--diff")
    assert would_leave.code == 0, would_leave.output
    assert "persistentvolumeclaim/mo-data-mo-log-3" in objects()
    fewer = play_cluster(cluster)
    assert fewer.code == 0, fewer.output
    eventually(lambda: "persistentvolumeclaim/mo-data-mo-log-3" not in objects())
    assert "persistentvolumeclaim/mo-data-mo-log-2" in objects()
    assert not [name for name in objects() if "mo-ap" in name or "mo-proxy" in name]
    assert play_cluster(cluster).counts["changed"] == 0

    kept = objects()
    would_go = play_cluster(cluster, "--check", state="absent")
    assert would_go.code == 0, would_go.output
    assert would_go.counts["changed"] > 0
    assert objects() == kept

    gone = play_cluster(cluster, state="absent")
    assert gone.code == 0, gone.output
    assert objects() == set()
    assert play_cluster(cluster, state="absent").counts["changed"] == 0


def test_compute_nodes_drain_before_one_goes_and_before_all_goes(
    play_cluster, fake_testbed, fake_namespace, objects
):
    """A drain may take longer than all else; nobody answers here, so it takes all its time.

    When all goes, proxies stay meanwhile, and groups drain side by side.
    """
    cluster = tiny_cluster(fake_namespace)
    cluster["spec"]["logService"]["replicas"] = 1
    group = cluster["spec"]["cnGroups"][0]
    group |= {"replicas": 2, "terminationPolicy": "Drain"}
    group["scalingConfig"] = {"storeDrainEnabled": True, "storeDrainTimeout": "25s"}
    cluster["spec"]["cnGroups"].append({**group, "name": "ap", "replicas": 1})
    up = play_cluster(cluster)
    assert up.code == 0, up.output

    group["replicas"] = 1
    begun = time.monotonic()
    done = play_cluster(cluster, wait_timeout=10)

    assert done.code == 0, done.output
    assert time.monotonic() - begun >= 25
    assert "draining mo-tp-cn-" in done.output
    deployment = ("-n", fake_namespace, "get", "deployment", "mo-tp-cn", "-o")
    assert fake_testbed.kubectl(*deployment, "jsonpath={.spec.replicas}") == "1"

    would_go = play_cluster(cluster, "--check", state="absent")
    assert would_go.code == 0, would_go.output
    assert would_go.counts["changed"] > 0
    assert "gave up" not in would_go.output
    assert objects() >= WORKLOADS

    with watching(fake_testbed, fake_namespace) as seen:
        begun = time.monotonic()
        gone = play_cluster(cluster, state="absent", wait_timeout=20)
        assert time.monotonic() - begun >= 25

    assert gone.code == 0, gone.output
    assert "draining mo-tp-cn-" in gone.output
    for group in ("tp", "ap"):
        assert re.search(rf"/mo-{group}: mo-{group}-cn-\S+ gave up after", gone.output)
    begins = {at for pods in seen.values() for _kind, at in pods if at}
    assert len(begins) > 0
    assert (max(begins) - min(begins)).total_seconds() < 25
    present = {at: {kind for kind, _begun in pods} for at, pods in seen.items()}
    last = {kind: max((at for at, kinds in present.items() if kind in kinds)) for kind in ORDER}
    assert last["ProxySet"] - begun >= 25
    assert [*sorted(ORDER, key=lambda kind: last[kind])] == [*ORDER]
    assert objects() == set()


ORDER = ("ProxySet", "CNSet", "DNSet", "LogSet")


@contextmanager
def watching(bed, namespace):
    """Note again and again of which components there are Pods, and when the drain of each began."""
    seen, over = {}, threading.Event()

    space = Namespace(bed, namespace)

    def look():
        while not over.wait(0.2):
            listed = space.listed("pods", COMPONENT)
            seen[time.monotonic()] = [described(pod["metadata"]) for pod in listed]

    def described(metadata):
        begun = (metadata.get("annotations") or {}).get("matrixorigin.io/store-draining-start")
        kind = metadata["labels"][COMPONENT]
        return kind, datetime.fromisoformat(begun) if begun else None

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def test_pooled_compute_nodes_come_up_and_drain_before_they_go(
    play_role, fake_testbed, fake_namespace
):
    """Their Pods are ready only when somebody says that HAKeeper knows them: the play does.

    HAKeeper is told of each that goes, and has nothing left of them long before the time is over.
    """
    with hakeeper(fake_testbed, fake_namespace) as told:
        cn_set = pooled_set(fake_namespace, told.address)
        cn_set["spec"] |= {
            "terminationPolicy": "Drain",
            "scalingConfig": {"storeDrainTimeout": "30m"},
        }
        up = play_role("cnset", cn_set, wait_timeout=60)
        assert up.code == 0, up.output
        again = play_role("cnset", cn_set, wait_timeout=60)
        assert again.code == 0, again.output
        assert again.counts["changed"] == 0, again.output
        assert told.draining == set()

        cn_set["spec"]["image"] = "matrixorigin/matrixone:3.0.19"
        rolled = play_role("cnset", cn_set, wait_timeout=60)
        assert rolled.code == 0, rolled.output
        ready = ("get", "deployment", "pool-cn", "-o", "jsonpath={.status.readyReplicas}")
        assert fake_testbed.kubectl("-n", fake_namespace, *ready) == "2"

        before = set(told.draining)
        gone = play_role("cnset", cn_set, state="absent", wait_timeout=60)
        assert gone.code == 0, gone.output
        assert "gave up" not in gone.output
        assert len(told.draining - before) == 2
        again = play_role("cnset", cn_set, state="absent", wait_timeout=60)
        assert again.counts["changed"] == 0, again.output

    left = fake_testbed.kubectl("-n", fake_namespace, "get", "pods,deployments", "-o", "name")
    assert left == ""


def test_pooled_compute_nodes_that_hakeeper_never_hears_of(play_role, fake_namespace):
    """The play ends with what is awaited, and with what keeps it from asking."""
    cn_set = pooled_set(fake_namespace, "127.0.0.1:9")

    failed = play_role("cnset", cn_set, wait_timeout=8)

    assert failed.code != 0
    assert "readiness gate matrixorigin.io/cn-store is not set" in failed.output
    assert "work state and labels cannot be set" in failed.output


def test_a_roll_that_is_held_is_no_failure(play_cluster, fake_testbed, fake_namespace):
    """Only stores from the partition on are changed; what depends on them waits, and says so."""
    cluster = tiny_cluster(fake_namespace)
    assert play_cluster(cluster).code == 0

    def images():
        found = {}
        for pod in Namespace(fake_testbed, fake_namespace).listed("pods", COMPONENT):
            kind = pod["metadata"]["labels"][COMPONENT]
            image = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
            found.setdefault(kind, []).append((pod["metadata"]["name"], image))
        return {kind: [image for _name, image in sorted(pods)] for kind, pods in found.items()}

    old, new = "3.0.18", "3.0.19"
    cluster["spec"]["version"] = new
    cluster["spec"]["logService"]["updateStrategy"] = {"partition": 2}
    cluster["spec"]["cnGroups"][0]["replicas"] = 2
    held = play_cluster(cluster)
    assert held.code == 0, held.output
    said = "held at partition 2: 1/3 log stores run what the spec asks for"
    assert f"LogSet {fake_namespace}/mo: {said}" in held.output
    for kind, name in (("DNSet", "mo"), ("CNSet", "mo-tp"), ("ProxySet", "mo")):
        assert f"{kind} {fake_namespace}/{name}: waiting for LogSet mo: {said}" in held.output
    others = {"DNSet": [old], "CNSet": [old] * 2, "ProxySet": [old]}
    assert images() == {"LogSet": [old, old, new], **others}

    again = play_cluster(cluster, "--check")
    assert again.code == 0, again.output
    assert again.counts["changed"] == 0, again.output

    cluster["spec"]["logService"]["updateStrategy"] = {"partition": 0}
    cluster["spec"]["tn"]["updateStrategy"] = {"partition": 1}
    held = play_cluster(cluster)
    assert held.code == 0, held.output
    said = "held at partition 1: 0/1 transaction nodes run what the spec asks for"
    assert f"CNSet {fake_namespace}/mo-tp: waiting for DNSet mo: {said}" in held.output
    others["ProxySet"] = [new]
    assert images() == {"LogSet": [new] * 3, **others}
    assert play_cluster(cluster).counts["changed"] == 0

    del cluster["spec"]["tn"]["updateStrategy"]
    done = play_cluster(cluster)
    assert done.code == 0, done.output
    assert "held" not in done.output
    wanted = {"LogSet": [new] * 3, "DNSet": [new], "CNSet": [new] * 2, "ProxySet": [new]}
    assert images() == wanted


def test_a_pause_an_operator_and_the_last_policy_are_heeded(
    play_cluster, play_role, installed_testbed, fake_namespace, objects
):
    """All three are decided by others than the play that brought the cluster up.

    Nobody but who has paused an update can go on, so there is nothing to wait for. What an operator
    runs is refused: it would bring up an empty database where a playbook has deleted the volumes.
    Brought up with Delete and deleted with Retain: volumes stay, and what opens their data.
    """
    cluster = tiny_cluster(fake_namespace)
    cluster["spec"]["logService"]["replicas"] = 1
    del cluster["spec"]["proxy"]
    assert play_cluster(cluster).code == 0

    group = cluster["spec"]["cnGroups"][0]
    group |= {"pauseUpdate": True, "image": "matrixorigin/matrixone:3.0.19", "replicas": 2}
    paused = play_cluster(cluster)

    assert paused.code == 0, paused.output
    said = f"CNSet {fake_namespace}/mo-tp: spec.pauseUpdate holds back changes of Pods"
    assert said in paused.output
    assert play_cluster(cluster).counts["changed"] == 0

    space, kept = Namespace(installed_testbed, fake_namespace), objects()
    with operator_resources(space, cluster) as log_set:
        for state in ("absent", "present"):
            refused = play_cluster(cluster, state=state)
            assert refused.code != 0
            said = "metadata.name: a MatrixOneCluster of this name is in the cluster"
            assert said in refused.output
            refused = play_role("logset", log_set, state=state)
            assert refused.code != 0
            assert "metadata.name: a LogSet of this name is in the cluster" in refused.output
        assert objects() == kept
        assert not space.get("mo", "mo").get("status")

    cluster["spec"]["logService"]["pvcRetentionPolicy"] = "Retain"
    gone = play_cluster(cluster, state="absent")

    assert gone.code == 0, gone.output
    assert objects() == {
        "persistentvolumeclaim/mo-data-mo-log-0",
        "persistentvolumeclaim/mo-shared",
        "secret/mo-credential",
        "secret/mo-credential-accepted",
    }


@contextmanager
def operator_resources(space, cluster):
    """Put a cluster and its LogSet into the API server for the block, which gets the LogSet."""
    service = {**cluster["spec"]["logService"], "image": "matrixorigin/matrixone:3.0.18"}
    log_set = {**cluster, "kind": "LogSet", "spec": service}
    for one in (cluster, log_set):
        space.apply(one)
    yield log_set
    space.kubectl("delete", "mo,logset", "mo")


def test_unusable_spec_is_refused(play_cluster, fake_namespace, objects):
    """The message names the field; nothing is created."""
    cluster = tiny_cluster(fake_namespace)
    cluster["spec"]["logService"]["sharedStorage"] = {}

    refused = play_cluster(cluster)

    assert refused.code != 0
    assert "sharedStorage" in refused.output
    assert objects() <= {"secret/mo-credential"}


def test_something_else_than_a_cluster_is_refused(play_cluster, fake_namespace):
    """The first task says what to give."""
    refused = play_cluster({"kind": "Pod", "metadata": {"name": "a"}, "spec": {}})

    assert refused.code != 0
    assert "manifest of kind MatrixOneCluster" in refused.output


def test_a_wait_ends_with_what_it_is_waiting_for_and_shows_no_password(
    play_cluster, fake_testbed, fake_namespace
):
    """The message says which component, why and where to look; the password is random."""
    cluster = tiny_cluster(fake_namespace)
    cluster["spec"]["logService"]["nodeSelector"] = {"no-such": "node"}

    failed = play_cluster(cluster, "--diff", "-vvv", wait_timeout=4)

    assert failed.code != 0
    assert f"LogSet {fake_namespace}/mo: 0/3 log stores are ready, waiting for" in failed.output
    assert f"LogSet {fake_namespace}/mo is not ready after 4 s" in failed.output
    assert "mo-log-0 (Unschedulable" in failed.output
    assert f"kubectl -n {fake_namespace} describe statefulset/mo-log" in failed.output

    secret = Namespace(fake_testbed, fake_namespace).get("secret", "mo-credential")
    values = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
    assert values["username"] == "dump"
    assert len(values["password"]) >= 20
    assert values["password"] not in failed.output
    assert secret["data"]["password"] not in failed.output
