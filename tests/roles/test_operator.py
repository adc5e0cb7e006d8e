# SPDX-License-Identifier: Apache-2.0
"""A cluster's life as a resource: the operator plays the roles, status tells what happens."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from testbed.bed import TestBed
from tests.operator_rights import account, refusals

from .conftest import KINDS, ROOT, tiny_cluster

pytestmark = pytest.mark.api

CHILDREN = "logset,dnset,cnset,proxyset,webui"
T = TypeVar("T")


def eventually(look: Callable[[], T], seconds: float = 90.0) -> T:
    """Return what ``look`` finds as soon as it finds something; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.3)
    return found


class Namespace:
    """What is in the namespace of these tests."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.name, *arguments, **how)

    def apply(self, resource: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(resource))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        text = self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else {}

    def names(self, kinds: str) -> set[str]:
        found = self.kubectl("get", kinds, "-o", "name").split()
        return {name for name in found if not name.endswith("kube-root-ca.crt")}

    def condition(self, kind: str, name: str, wanted: str) -> dict[str, Any]:
        listed = (self.get(kind, name).get("status") or {}).get("conditions") or []
        return next((one for one in listed if one["type"] == wanted), {})

    def wait(self, condition: str, kind: str = "mo", name: str = "mo") -> None:
        """Wait as a user would."""
        self.kubectl("wait", f"--for={condition}", f"{kind}/{name}", "--timeout=120s")

    def versions(self) -> dict[str, str]:
        text = self.kubectl("get", f"mo,{CHILDREN},{KINDS}", "-o", "json")
        return {
            f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
            for one in json.loads(text)["items"]
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Namespace]:
    folder = str(ROOT / "crds")
    fake_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", folder)
    names = [
        f"crd/{path.stem.replace('core.matrixorigin.io_', '')}.core.matrixorigin.io"
        for path in (ROOT / "crds").glob("core.*.yaml")
    ]
    fake_testbed.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
    with fake_testbed.namespace("operator") as name:
        yield Namespace(fake_testbed, name)


@pytest.fixture(scope="module")
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the operator for the namespace, with the rights that it is given there; gives its log."""
    folder = tmp_path_factory.mktemp("operator")
    log = folder / "log"
    command = [
        *(str(Path(sys.executable).parent / "ansible-operator"), "run"),
        *("--watches-file", str(ROOT / "watches.yaml")),
        *("--proxy-port", str(free_port()), "--metrics-api-port", str(free_port())),
        *("--metrics-bind-address", "0", "--health-probe-bind-address", "0"),
        *("--run-directory", str(folder / "runs")),
    ]
    environment = {
        **os.environ,
        "KUBECONFIG": str(account(space.bed, space.name, folder / "kubeconfig")),
        "WATCH_NAMESPACE": space.name,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_GATHERING": "explicit",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    assert refusals(log) == []


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[dict[str, Any]]:
    """A cluster that serves; taken away at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("condition=Ready")
    space.wait("condition=Synced")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def test_printer_columns_say_what_is_there(space, cluster):
    """kubectl get shows readiness, counts and version from the status."""
    columns = space.kubectl("get", "mo", "mo", "--no-headers").split()

    assert columns[:8] == ["mo", "True", "AllSetsReady", "3/3", "1/1", "1/1", "1/1", "1.3.0"]
    listed = space.kubectl("get", "matrixone", "--no-headers").splitlines()
    assert len([line for line in listed if line.strip()]) == 5


def test_status_refers_to_credential_and_entrance(space, cluster):
    """The Secret and the SQL address are where the status says."""
    status = space.get("mo", "mo")["status"]

    assert set(space.get("secret", status["credentialRef"]["name"])["data"]) == {
        "username",
        "password",
    }
    assert (status["host"], status["port"]) == (f"mo-proxy.{space.name}", 6001)
    assert space.get("service", "mo-proxy")["spec"]["ports"][0]["port"] == 6001


def test_bootstrap_is_on_record(space, cluster):
    """The LogSet carries who founded HAKeeper."""
    annotations = space.get("logset", "mo")["metadata"]["annotations"]

    members = json.loads(annotations["logset.matrixorigin.io/bootstrap"])
    assert [one["ordinal"] for one in members] == [0, 1, 2]


def test_everything_has_an_owner(space, cluster):
    """What the operator made goes when its owner goes: nothing is left to be forgotten."""
    text = space.kubectl("get", f"{CHILDREN},{KINDS}", "-o", "json")
    made = [
        one
        for one in json.loads(text)["items"]
        if one["metadata"]["name"] != "kube-root-ca.crt"
        and not one["metadata"]["name"].startswith("mo-data-")
    ]

    assert len(made) > 20
    for one in made:
        owners = one["metadata"].get("ownerReferences") or []
        name = f"{one['kind']}/{one['metadata']['name']}"
        assert [owner["controller"] for owner in owners] == [True], name


def test_idle_costs_nothing(space, cluster, operator):
    """A healthy cluster causes no writes and no passes."""
    eventually(lambda: _quiet(operator, 3))
    versions, output = space.versions(), operator.read_text().count("exited successfully")

    time.sleep(8)

    assert space.versions() == versions
    assert operator.read_text().count("exited successfully") == output


def _quiet(log: Path, seconds: float) -> bool:
    size = log.stat().st_size
    time.sleep(seconds)
    return log.stat().st_size == size


def test_change_reaches_every_part(space, cluster):
    """When the cluster is synced, every Pod runs the new version; the status says so."""
    for part in (cluster["spec"]["tn"], cluster["spec"]["cnGroups"][0]):
        part["config"] = '[log]\nlevel = "debug"\n'
    cluster["spec"]["version"] = "1.3.1"
    space.apply(cluster)
    space.wait("condition=Synced")
    space.wait("condition=Ready")

    found = space.get("mo", "mo")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert found["status"]["version"] == "1.3.1"
    images = space.kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")
    assert set(images.split()) == {"matrixorigin/matrixone:1.3.1"}


def test_config_maps_stay_while_they_can_be_rolled_back_to(space, cluster):
    """A ConfigMap of an old revision goes when no ReplicaSet mentions it any longer."""
    configs = {name for name in space.names("configmap") if "mo-tp-cn-config-" in name}
    assert len(configs) == 2
    used = space.get("deployment", "mo-tp-cn")["spec"]["template"]["spec"]["volumes"]
    (kept,) = [one["configMap"]["name"] for one in used if "configMap" in one]
    for replica_set in space.names("replicaset"):
        if "mo-tp-cn" in replica_set:
            spec = json.loads(space.kubectl("get", replica_set, "-o", "json"))["spec"]
            if spec["replicas"] == 0:
                space.kubectl("delete", replica_set)
    space.kubectl("annotate", "cnset", "mo-tp", "touch=1")

    eventually(
        lambda: (
            {name for name in space.names("configmap") if "mo-tp-cn-config-" in name}
            == {f"configmap/{kept}"}
        )
    )


def test_unusable_config_is_told_and_mended(space, cluster):
    """Synced names the field; the cluster serves on; a corrected spec needs no other help."""
    cluster["spec"]["tn"]["config"] = "[log\nlevel = "
    space.apply(cluster)

    told = eventually(
        lambda: (
            _is(space.condition("dnset", "mo", "Synced"), "InvalidSpec")
            or _is(space.condition("mo", "mo", "Synced"), "InvalidSpec")
        )
    )
    assert "config" in told["message"]
    eventually(lambda: space.condition("mo", "mo", "Ready")["status"] == "True")

    cluster["spec"]["tn"]["config"] = '[log]\nlevel = "info"\n'
    space.apply(cluster)
    space.wait("condition=Synced")


def _is(condition: dict[str, Any], reason: str) -> dict[str, Any]:
    return condition if condition.get("reason") == reason else {}


def test_pause_leaves_everything_alone(space, cluster):
    """A paused cluster shows it, and applies the change when it goes on."""
    space.kubectl("annotate", "mo", "mo", "matrixorigin.io/paused=true")
    eventually(lambda: space.condition("mo", "mo", "Paused").get("status") == "True")
    cluster["spec"]["cnGroups"][0]["replicas"] = 2
    space.apply(cluster)
    eventually(lambda: _is(space.condition("mo", "mo", "Synced"), "Paused"))
    assert space.get("cnset", "mo-tp")["spec"]["replicas"] == 1

    space.kubectl("annotate", "mo", "mo", "matrixorigin.io/paused-")
    eventually(lambda: space.get("cnset", "mo-tp")["spec"]["replicas"] == 2)
    space.wait("condition=Synced")


def test_replicas_that_are_left_out_belong_to_others(space, cluster):
    """kubectl scale on a group of open size is not reverted by the cluster."""
    del cluster["spec"]["cnGroups"][0]["replicas"]
    space.apply(cluster)
    space.wait("condition=Synced")
    space.kubectl("scale", "cnset", "mo-tp", "--replicas=3")

    eventually(lambda: space.get("deployment", "mo-tp-cn")["status"].get("readyReplicas") == 3)
    space.kubectl("annotate", "mo", "mo", "touch=1", "--overwrite")
    eventually(lambda: space.get("mo", "mo")["status"]["readable"]["cn"] == "3/3")
    time.sleep(3)
    assert space.get("cnset", "mo-tp")["spec"]["replicas"] == 3


def test_removed_parts_go(space, cluster):
    """Without proxy in the spec there is no proxy, and SQL goes to the CN group."""
    del cluster["spec"]["proxy"]
    space.apply(cluster)

    eventually(lambda: not space.get("proxyset", "mo") and not space.get("deployment", "mo-proxy"))
    eventually(lambda: space.get("mo", "mo")["status"].get("host") == f"mo-tp-cn.{space.name}")
    assert "proxy" not in space.get("mo", "mo")["status"]


def test_events_tell_the_story(space, cluster):
    """What a human would want to know was told, and nothing was told twice in a row."""
    text = space.kubectl("get", "events.events.k8s.io", "-o", "json")
    told = [
        (one["regarding"]["kind"], one["reason"])
        for one in json.loads(text)["items"]
        if one.get("reportingController") == "matrixorigin.io/matrixone"
    ]

    assert {
        ("MatrixOneCluster", "CredentialCreated"),
        ("MatrixOneCluster", "AllSetsReady"),
        ("LogSet", "EnoughReadyStores"),
        ("DNSet", "WaitingForDependency"),
        ("CNSet", "Scaled"),
        ("MatrixOneCluster", "PausedByAnnotation"),
    } <= set(told)
    assert told.count(("MatrixOneCluster", "CredentialCreated")) == 1


def test_teardown_leaves_nothing(space, cluster):
    """Everything goes, the log service last, volumes included."""
    space.kubectl("delete", "mo", "mo", "--timeout=120s")

    assert space.names(f"mo,{CHILDREN}") == set()
    eventually(lambda: not space.names(KINDS) and not space.names("pods"))
