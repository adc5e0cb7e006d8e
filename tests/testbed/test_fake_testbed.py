# SPDX-License-Identifier: Apache-2.0
"""The test bed with fake nodes does what a cluster does, except for running containers."""

import http.client
import json
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from testbed import KubectlError, TestBed, namespaces
from testbed.api import ApiClient
from tests.support.namespaces import Namespace
from tests.support.waiting import eventually
from tests.testbed.objects import get

pytestmark = pytest.mark.api


def workload(kind: str, image: str, **spec: Any) -> str:
    """A Deployment or StatefulSet called `thing` with two pods."""
    pod = {"containers": [{"name": "main", "image": image}], **spec.pop("pod", {})}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "thing"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "thing"}},
            "template": {"metadata": {"labels": {"app": "thing"}}, "spec": pod},
            **spec,
        },
    }
    return json.dumps(manifest)


def conditions(pod: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}


def test_rbac_decides(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A ServiceAccount without a role may do nothing."""
    account = f"--as=system:serviceaccount:{fake_namespace}:default"
    with pytest.raises(KubectlError, match="forbidden"):
        fake_testbed.kubectl("get", "pods", "-n", fake_namespace, account)


def test_service_account_token_is_accepted(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A token of a ServiceAccount authenticates as that account."""
    bed = fake_testbed
    assert eventually(lambda: "default" in bed.kubectl("get", "sa", "-n", fake_namespace))
    token = bed.kubectl("create", "token", "default", "-n", fake_namespace).strip()
    options = (f"--server={bed.server}", "--insecure-skip-tls-verify", f"--token={token}")
    answer = bed.kubectl("auth", "whoami", "-o", "json", "--kubeconfig=/dev/null", *options)
    user = json.loads(answer)["status"]["userInfo"]["username"]
    assert user == f"system:serviceaccount:{fake_namespace}:default"


def test_pods_run_roll_and_go(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A Deployment becomes available, rolls to another image, and its pods go with it.

    No connection to a pod can be made, nor takes any time.
    """
    bed, namespace = fake_testbed, fake_namespace
    for image in ("thing:1", "thing:2"):
        bed.kubectl("apply", "-n", namespace, "-f", "-", input=workload("Deployment", image))
        bed.kubectl("rollout", "status", "-n", namespace, "deployment/thing", "--timeout=30s")
    pods = get(bed, namespace, "pods")["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods if conditions(pod)} == {"thing:2"}
    for pod in pods:
        with pytest.raises(OSError, match="Network is unreachable"):
            socket.create_connection((pod["status"]["podIP"], 6001), timeout=60)
    bed.kubectl("delete", "-n", namespace, "deployment/thing", "--cascade=foreground")
    assert eventually(lambda: get(bed, namespace, "pods")["items"] == [])


@pytest.mark.parametrize(
    ("image", "phase", "reason"),
    [("thing:broken", "Pending", "ImagePullBackOff"), ("thing:unready", "Running", None)],
)
def test_bad_images_are_played(
    fake_testbed: TestBed, fake_namespace: str, image: str, phase: str, reason: str | None
) -> None:
    """Tests can play a roll-out that gets stuck, in two ways."""
    bed, namespace = fake_testbed, fake_namespace
    bed.kubectl("apply", "-n", namespace, "-f", "-", input=workload("Deployment", image))

    def played() -> bool:
        pods = get(bed, namespace, "pods")["items"]
        return len(pods) == 2 and all(pod["status"].get("podIP") for pod in pods)

    assert eventually(played)
    for pod in get(bed, namespace, "pods")["items"]:
        assert pod["status"]["phase"] == phase
        assert conditions(pod)["Ready"] == "False"
        state = pod["status"]["containerStatuses"][0]["state"]
        assert state.get("waiting", {}).get("reason") == reason


def test_readiness_gates_are_kept(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A pod with a readiness gate is ready when somebody has opened it, and no longer than that."""
    bed, namespace = fake_testbed, fake_namespace
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "gated"},
        "spec": {
            "readinessGates": [{"conditionType": "example.com/open"}],
            "containers": [{"name": "main", "image": "thing:1"}],
        },
    }
    bed.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(pod))

    def becomes(ready: str) -> bool:
        def shown() -> bool:
            now = conditions(get(bed, namespace, "pod", "gated"))
            return (now.get("ContainersReady"), now.get("Ready")) == ("True", ready)

        return eventually(shown)

    assert becomes("False")
    for status in ("True", "False"):
        change = {"status": {"conditions": [{"type": "example.com/open", "status": status}]}}
        arguments = ("gated", "--subresource=status", f"--patch={json.dumps(change)}")
        bed.kubectl("patch", "-n", namespace, "pod", *arguments)
        assert becomes(status)


def claim(name: str, storage_class: str | None = None) -> str:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    if storage_class:
        spec["storageClassName"] = storage_class
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return json.dumps({**kind, "metadata": {"name": name}, "spec": spec})


def bound_volume(bed: TestBed, namespace: str, name: str) -> dict[str, Any]:
    def bound() -> bool:
        return bool(get(bed, namespace, "pvc", name)["status"]["phase"] == "Bound")

    assert eventually(bound)
    volume: str = get(bed, namespace, "pvc", name)["spec"]["volumeName"]
    return get(bed, namespace, "pv", volume)


def test_claim_binds_grows_and_goes(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A claim gets a folder that anybody may write to, grows, and takes the folder along."""
    bed, namespace = fake_testbed, fake_namespace
    bed.kubectl("create", "-n", namespace, "-f", "-", input=claim("data"))
    volume = bound_volume(bed, namespace, "data")
    folder = Path(volume["spec"]["hostPath"]["path"])
    assert folder.stat().st_mode & 0o777 == 0o777
    (folder / "rows").write_text("1")

    change = {"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
    bed.kubectl("patch", "-n", namespace, "pvc", "data", f"--patch={json.dumps(change)}")

    def grown() -> bool:
        status = get(bed, namespace, "pvc", "data")["status"]
        return bool(status["capacity"]["storage"] == "3Gi")

    assert eventually(grown)
    name = volume["metadata"]["name"]
    assert get(bed, namespace, "pv", name)["spec"]["capacity"]["storage"] == "3Gi"
    assert (folder / "rows").read_text() == "1"

    bed.kubectl("delete", "-n", namespace, "pvc", "data")
    assert eventually(lambda: not folder.exists())
    assert eventually(lambda: name not in bed.kubectl("get", "pv", "-o", "name"))


def test_retained_volume_is_kept(fake_testbed: TestBed, fake_namespace: str) -> None:
    """With the policy Retain, volume and data outlive the claim, and the data the volume."""
    bed, namespace = fake_testbed, fake_namespace
    bed.kubectl("create", "-n", namespace, "-f", "-", input=claim("kept"))
    volume = bound_volume(bed, namespace, "kept")
    name, folder = volume["metadata"]["name"], Path(volume["spec"]["hostPath"]["path"])
    change = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
    bed.kubectl("patch", "pv", name, f"--patch={json.dumps(change)}")
    bed.kubectl("delete", "-n", namespace, "pvc", "kept")

    def released() -> bool:
        return bool(get(bed, namespace, "pv", name)["status"]["phase"] == "Released")

    assert eventually(released)
    assert folder.is_dir()
    bed.kubectl("delete", "pv", name, "--timeout=20s")
    assert folder.is_dir()


def test_local_volume_waits_for_its_pod(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A claim of class `local` binds on the node of its first pod and stays there."""
    bed, namespace = fake_testbed, fake_namespace
    bed.kubectl("create", "-n", namespace, "-f", "-", input=claim("disk", "local"))
    assert get(bed, namespace, "pvc", "disk")["status"]["phase"] == "Pending"
    volumes = [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}]
    manifest = workload("StatefulSet", "thing:1", pod={"volumes": volumes}, serviceName="thing")
    bed.kubectl("create", "-n", namespace, "-f", "-", input=manifest)
    volume = bound_volume(bed, namespace, "disk")
    term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    node = term["matchExpressions"][0]["values"]
    bed.kubectl("rollout", "status", "-n", namespace, "statefulset/thing", "--timeout=30s")
    pods = get(bed, namespace, "pods")["items"]
    assert [pod["spec"]["nodeName"] for pod in pods] == node * 2


class Closed(http.client.HTTPSConnection):
    """A kept connection whose end shows while a request is sent."""

    def __init__(self, error: Exception) -> None:
        super().__init__("localhost")
        self._error = error

    def request(self, *_: Any, **__: Any) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error", [ssl.SSLEOFError("EOF"), BrokenPipeError(), http.client.RemoteDisconnected()]
)
def test_a_closed_connection_costs_no_request(fake_testbed: TestBed, error: Exception) -> None:
    client = ApiClient(fake_testbed.kubeconfig)
    client._connection = Closed(error)
    assert client.request("GET", "/version")["major"] == "1"


def test_a_namespace_ends_though_nobody_removes_finalizers(
    installed_testbed: TestBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is released when a later one ends, after the time that an operator has to do it."""
    bed = installed_testbed
    with bed.namespace("stuck") as name:
        web_ui = {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "WebUI",
            "metadata": {"name": "ui", "namespace": name, "finalizers": ["example.com/held"]},
            "spec": {"replicas": 1, "image": "dashboard:1"},
        }
        Namespace(bed, name).apply(web_ui)
    client = ApiClient(bed.kubeconfig)

    def remaining() -> str:
        status = client.request("GET", f"/api/v1/namespaces/{name}")["status"]
        return " ".join(one["reason"] for one in status.get("conditions", []))

    assert eventually(lambda: "SomeFinalizersRemain" in remaining())
    namespaces.release(client, name)
    assert "SomeFinalizersRemain" in remaining()

    monkeypatch.setattr(namespaces, "PATIENCE", 0.0)
    with bed.namespace("later"):
        pass

    assert eventually(lambda: name not in bed.kubectl("get", "namespaces", "-o", "name"), 60)
