# SPDX-License-Identifier: Apache-2.0
"""The operator in the cluster: two Pods of its own image, with its own rights and no others."""

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pymysql
import pytest

from image.operator import IMAGE, project_archive
from testbed import lifecycle
from testbed.bed import KubectlError, TestBed
from tests.e2e.clusters import Cluster, tiny_cluster
from tests.e2e.deployed import NAMESPACE, Deployed
from tests.e2e.traffic import Traffic, conclude
from tests.support.operator_rights import refusals
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
]

HAND_OVER_SECONDS = 30
LONGEST_GAP = 10.0
MEMCACHED = ROOT / "examples" / "memcached"
MEMCACHED_IMAGE = "docker.io/library/memcached-operator:dev"


@pytest.fixture(scope="module")
def operator(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The operator, deployed by `make deploy`; taken away again at the end."""
    deployed = Deployed(real_testbed, tmp_path_factory.mktemp("operator"))
    deployed.start()
    try:
        yield deployed
        assert refusals(deployed.log) == []
    finally:
        deployed.remove()


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, operator: Deployed) -> Iterator[Cluster]:
    """A tiny cluster that the deployed operator has brought up."""
    with real_testbed.namespace("deployment") as namespace:
        made = Cluster(real_testbed, namespace, operator)
        made.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster()))
        made.await_ready()
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


def running(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Uid and restarts of every Pod of the database."""
    return {
        one["metadata"]["name"]: (
            one["metadata"]["uid"],
            sum(status["restartCount"] for status in one["status"]["containerStatuses"]),
        )
        for one in cluster.get("pods")["items"]
    }


def test_database_answers(cluster: Cluster, operator: Deployed) -> None:
    """SQL is answered, and no right was missing on the way."""
    # A proxy that has just started has not heard of compute nodes yet.
    eventually(lambda: "MatrixOne" in _version(cluster), 60, "answer to SQL")
    assert refusals(operator.log) == []


def _version(cluster: Cluster) -> str:
    try:
        with cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("select version()")
            return str(cursor.fetchone())
    except pymysql.MySQLError as error:
        return str(error.args[0])


def test_another_pod_leads_when_the_leader_is_killed(cluster: Cluster, operator: Deployed) -> None:
    """A change that was made as the leader died is carried out; no Pod of the database restarts."""
    before, leader = running(cluster), operator.leader()
    assert set(operator.pods()) > {leader}

    cluster.change("cnGroups/0/replicas", 2)
    # Whatever the container may kill, at once: nobody is left to give the lease back.
    with suppress(KubectlError):  # it kills its own shell, too
        operator.kubectl("exec", leader, "--", "sh", "-c", "kill -9 -1")
    begun = time.monotonic()
    eventually(
        lambda: operator.leader() not in {"", leader}, HAND_OVER_SECONDS, "new leader", pause=0.2
    )
    took = time.monotonic() - begun
    eventually(lambda: len(cluster.pods("CNSet")) == 2, 60, "second compute node")
    cluster.await_ready()

    conclude(f"operator-killed: another leads after {took:.1f} s")
    assert before.items() <= running(cluster).items()


def test_rolling_the_operator_restarts_no_database(cluster: Cluster, operator: Deployed) -> None:
    """All Pods of the operator are new, those of the database are the same; clients see nothing."""
    before, replaced = running(cluster), set(operator.pods())
    with Traffic(cluster, "operator-rolled") as traffic:
        begun = time.monotonic()
        operator.kubectl("rollout", "restart", f"deployment/{NAMESPACE}")
        operator.kubectl("rollout", "status", f"deployment/{NAMESPACE}", "--timeout=120s")
        eventually(lambda: not replaced & set(operator.pods()), 90, "end of the old Pods")
        eventually(lambda: operator.leader() in operator.pods(), 30, "leader")
        took = time.monotonic() - begun
        cluster.patch("mo", "mo", {"metadata": {"annotations": {"touch": "1"}}})
        time.sleep(5)

    conclude(f"operator-rolled: all Pods are new after {took:.1f} s")
    traffic.require_nothing_lost(longest=LONGEST_GAP)
    assert running(cluster) == before


def test_mistakes_are_refused_at_the_door(cluster: Cluster) -> None:
    """What schemas cannot say, a replica says through the webhook's Service."""
    broken = {"spec": {"tn": {"config": "[log\nlevel = "}}}

    with pytest.raises(KubectlError, match=r"tn\.config"):
        cluster.patch("mo", "mo", broken)


def test_pods_are_restricted(operator: Deployed) -> None:
    """They run as nobody special on a file system that they cannot write to."""
    for name, pod in operator.pods().items():
        assert operator.kubectl("exec", name, "--", "id", "-u").strip() == "1001"
        tried = "touch /opt/ansible/x 2>&1 || echo refused"
        assert "Read-only" in operator.kubectl("exec", name, "--", "sh", "-c", tried)
        assert pod["status"]["containerStatuses"][0]["restartCount"] == 0


def test_metrics_are_for_those_who_may_read_them(
    real_testbed: TestBed, operator: Deployed, real_namespace: str
) -> None:
    """Through its Service, with the token of an account that has the right, and else not."""
    address = real_testbed.kubectl(
        *("-n", NAMESPACE, "get", "service", f"{NAMESPACE}-metrics"),
        *("-o", "jsonpath={.spec.clusterIP}"),
    )
    real_testbed.kubectl("-n", real_namespace, "create", "serviceaccount", "prometheus")
    token = real_testbed.kubectl("-n", real_namespace, "create", "token", "prometheus").strip()
    assert _scraped(address, token) == (403, False)

    monitor = ROOT / "deploy" / "components" / "prometheus" / "reader.yaml"
    real_testbed.kubectl("apply", "-f", str(monitor))
    real_testbed.kubectl(
        *("create", "clusterrolebinding", f"reader-{real_namespace}"),
        f"--clusterrole={NAMESPACE}-metrics-reader",
        f"--serviceaccount={real_namespace}:prometheus",
    )
    try:
        # Each replica remembers a refusal for a minute.
        wanted = (200, True)
        eventually(lambda: _scraped(address, token) == wanted, 90, "right to read", pause=3)
    finally:
        real_testbed.kubectl("delete", "clusterrolebinding", f"reader-{real_namespace}")
        real_testbed.kubectl("delete", "-f", str(monitor))


def _scraped(address: str, token: str) -> tuple[int, bool]:
    """The answer's status, and whether it holds metrics of the operator."""
    context = ssl._create_unverified_context()  # noqa: S323  # self-signed
    connection = http.client.HTTPSConnection(address, 8443, context=context, timeout=20)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    return answer.status, b"ansible_operator_build_info" in answer.read()


def test_image_is_a_base_for_other_operators(
    real_testbed: TestBed, operator: Deployed, real_namespace: str
) -> None:
    """The memcached project, built FROM it with its own Dockerfile, works in a Pod."""
    archive = project_archive(MEMCACHED, MEMCACHED_IMAGE)
    lifecycle.load_image(str(archive), real_testbed.name)
    text = real_testbed.kubectl("kustomize", str(MEMCACHED / "config" / "default"))
    text = text.replace("image: memcached-operator:latest", f"image: {MEMCACHED_IMAGE}")
    sample = ("-f", str(MEMCACHED / "config" / "samples" / "cache_v1alpha1_memcached.yaml"))
    inside = ("-n", real_namespace)
    real_testbed.kubectl("apply", "-f", "-", input=text)
    try:
        real_testbed.kubectl(*inside, "apply", *sample)
        eventually(lambda: _replicas(real_testbed, *inside) == 3, 120, "Deployment of the sample")
        real_testbed.kubectl(*inside, "delete", *sample, "--timeout=60s")
        # Without its CRD, the garbage collector would not know the owner any more.
        eventually(lambda: _replicas(real_testbed, *inside) is None, 60, "end of the Deployment")
    finally:
        real_testbed.kubectl("delete", "-f", "-", "--ignore-not-found", input=text)


def _replicas(bed: TestBed, *inside: str) -> Any:
    listed = json.loads(bed.kubectl(*inside, "get", "deployments", "-o", "json"))["items"]
    return next((one["spec"]["replicas"] for one in listed), None)


def test_user_may_be_any(real_testbed: TestBed, operator: Deployed, real_namespace: str) -> None:
    """A cluster that gives Pods users of its own choice can run the image."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "anybody"},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsUser": 1000680000, "runAsGroup": 0},
            "containers": [
                {
                    "name": "play",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-ec", "ansible localhost -m ping && test -w /opt/ansible"],
                }
            ],
        },
    }
    real_testbed.kubectl("-n", real_namespace, "apply", "-f", "-", input=json.dumps(pod))
    done = "--for=jsonpath={.status.phase}=Succeeded"
    real_testbed.kubectl("-n", real_namespace, "wait", done, "pod/anybody", "--timeout=60s")
    assert "pong" in real_testbed.kubectl("-n", real_namespace, "logs", "anybody")
