# SPDX-License-Identifier: Apache-2.0
"""A real node runs containers: network, names, volumes, logs, and the database itself."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pymysql
import pytest

import testbed
from testbed import TestBed
from testbed import database as databases
from testbed.images import oci
from testbed.images.oci import Entry, Image
from tests.support.waiting import eventually
from tests.testbed import traces
from tests.testbed.objects import get

pytestmark = pytest.mark.node

IMAGE = databases.chosen().image
# What the restricted Pod security profile asks for.
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
# The commands that the operator's start scripts use.
COMMANDS = "sh sed awk od sha256sum nslookup mktemp cat cp mkdir sleep grep hostname date"


def apply(bed: TestBed, namespace: str, *objects: dict[str, Any]) -> None:
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    bed.kubectl("apply", "-n", namespace, "-f", "-", input=content)


def service(name: str, port: int, target: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "selector": {"app": "thing"},
            "ports": [{"port": port, "targetPort": target}],
            **spec,
        },
    }


def web_servers() -> dict[str, Any]:
    script = "echo started; echo $HOSTNAME >/data/index.html; exec httpd -f -p 8080 -h /data"
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", script],
        "securityContext": RESTRICTED,
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    labels = {"matchLabels": {"app": "thing"}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": labels,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "thing"},
        "spec": {
            "replicas": 2,
            "serviceName": "names",
            "podManagementPolicy": "Parallel",
            "selector": labels,
            "template": {
                "metadata": {"labels": labels["matchLabels"]},
                "spec": {
                    "containers": [container],
                    "terminationGracePeriodSeconds": 1,
                    "topologySpreadConstraints": [spread],
                },
            },
            "volumeClaimTemplates": [claim],
        },
    }


def test_containers_network_names_and_volumes(real_testbed: TestBed, real_namespace: str) -> None:
    """Restricted pods write to volumes, know each other by name, and serve pods and the machine."""
    bed, namespace = real_testbed, real_namespace
    headless = service("names", 8080, 8080, clusterIP="None")
    apply(bed, namespace, headless, service("web", 80, 8080), web_servers())
    bed.kubectl("rollout", "status", "-n", namespace, "statefulset/thing", "--timeout=60s")

    assert bed.kubectl("logs", "-n", namespace, "thing-0") == "started\n"
    inside = ("exec", "-n", namespace, "thing-0", "--", "sh", "-c")
    assert bed.kubectl(*inside, "id -u").strip() == "65532"
    assert bed.kubectl(*inside, "wget -qO- http://thing-1.names:8080/").strip() == "thing-1"
    bed.kubectl(*inside, f"for one in {COMMANDS}; do command -v $one >/dev/null || exit 1; done")
    bed.kubectl(*inside, f"nslookup thing-1.names.{namespace}.svc.cluster.local")

    # Through the Service both answer, to a pod that may meet itself, and to this machine.
    seen_inside = bed.kubectl(*inside, "for i in $(seq 30); do wget -qO- http://web/; done")
    assert set(seen_inside.split()) == {"thing-0", "thing-1"}
    address = get(bed, namespace, "service", "web")["spec"]["clusterIP"]
    seen = {urllib.request.urlopen(f"http://{address}/").read().strip() for _ in range(30)}
    assert seen == {b"thing-0", b"thing-1"}

    volume = get(bed, namespace, "pvc", "data-thing-0")["spec"]["volumeName"]
    folder = Path(get(bed, namespace, "pv", volume)["spec"]["hostPath"]["path"])
    assert (folder / "index.html").read_text() == "thing-0\n"


def test_loaded_image_runs(real_testbed: TestBed, real_namespace: str, tmp_path: Path) -> None:
    """An image archive that somebody has made can be loaded and runs."""
    busybox = Entry("/bin/sh", source=Path("/bin/busybox"))
    image = Image("docker.io/example/own:1", [busybox], entrypoint=["/bin/sh", "-c"])
    testbed.load_image(str(oci.write(image, tmp_path / "own.tar")), real_testbed.name)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "own"},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "example/own:1", "args": ["echo it runs"]}],
        },
    }
    apply(real_testbed, real_namespace, pod)
    bed, namespace = real_testbed, real_namespace
    bed.kubectl(
        "wait", "-n", namespace, "pod/own", "--for=jsonpath={.status.phase}=Succeeded",
        "--timeout=30s",
    )  # fmt: skip
    assert bed.kubectl("logs", "-n", namespace, "own") == "it runs\n"


def database() -> list[dict[str, Any]]:
    """One process that is log service, transaction node and compute node."""
    services = "\n".join(
        f'{kind}services = ["/etc/launch/{kind}.toml"]' for kind in ("log", "tn", "cn")
    )
    files = {"launch.toml": services}
    for kind in ("log", "tn", "cn"):
        files[f"{kind}.toml"] = f'service-type = "{kind.upper()}"\ndata-dir = "/data"\n'
    files["cn.toml"] += '[cn]\nuuid = "dd1dccb4-4d3c-41f8-b482-5251dc7a41bf"\nport-base = 18000\n'
    files["tn.toml"] += '[tn]\nuuid = "dd4dccb4-4d3c-41f8-b482-5251dc7a41bf"\nport-base = 19000\n'
    configuration = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "launch"},
        "data": files,
    }
    return [configuration, database_pod(), service("sql", 6001, 6001)]


def database_pod() -> dict[str, Any]:
    container = {
        "name": "main",
        "image": IMAGE,
        "args": ["-launch", "/etc/launch/launch.toml"],
        "workingDir": "/data",
        "securityContext": RESTRICTED,
        "readinessProbe": {"tcpSocket": {"port": 6001}, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "launch", "mountPath": "/etc/launch"},
            {"name": "data", "mountPath": "/data"},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "database", "labels": {"app": "thing"}},
        "spec": {
            "containers": [container],
            "terminationGracePeriodSeconds": 1,
            "volumes": [
                {"name": "launch", "configMap": {"name": "launch"}},
                {"name": "data", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
    }


def test_database_answers_sql(real_testbed: TestBed, real_namespace: str) -> None:
    """The real MatrixOne runs in a restricted pod and serves SQL through a Service."""
    bed, namespace = real_testbed, real_namespace
    apply(bed, namespace, *database())
    bed.kubectl("wait", "-n", namespace, "pod/database", "--for=condition=Ready", "--timeout=120s")
    address = get(bed, namespace, "service", "sql")["spec"]["clusterIP"]
    rows: list[tuple[Any, ...]] = []

    def answers() -> bool:
        try:
            connection = pymysql.connect(
                host=address, port=6001, user="dump", password="111", connect_timeout=5
            )
        except pymysql.MySQLError:
            return False
        with connection, connection.cursor() as cursor:
            cursor.execute("create database if not exists lab")
            cursor.execute("use lab")
            cursor.execute("create table t (id int primary key)")
            cursor.execute("insert into t values (1), (2)")
            cursor.execute("select version(), count(*) from t")
            rows.extend(cursor.fetchall())
        return True

    assert eventually(answers, 60)
    assert [count for _, count in rows] == [2]
    assert "MatrixOne" in rows[0][0]


def test_real_node_leaves_nothing(own_state: Path) -> None:
    """Two real test beds live side by side; containers, rules and mounts go with each of them."""
    before = traces.system()
    beds = {name: testbed.up(name, nodes="real", images=["matrixone"]) for name in ("one", "two")}
    for bed in beds.values():
        with bed.namespace() as namespace:
            apply(bed, namespace, service("web", 80, 8080), web_servers())
            bed.kubectl("rollout", "status", "-n", namespace, "statefulset/thing", "--timeout=60s")
            address = get(bed, namespace, "service", "web")["spec"]["clusterIP"]
            assert urllib.request.urlopen(f"http://{address}/").read().startswith(b"thing-")
    for name, bed in beds.items():
        found = traces.of(bed.state.identity, own_state / name)
        found.pop("mounts")
        assert all(found.values()), f"the search finds what there is: {found}"
        assert traces.system() == before, "the machine's own rules are untouched even now"
        testbed.down(name)
        assert traces.none(traces.of(bed.state.identity, own_state / name))
    assert traces.system() == before


def test_lost_node(own_state: Path) -> None:
    """A node that is lost takes its pods along; the others go on; `up` brings it back."""
    bed = testbed.up("lossy", nodes="real", node_count=2, images=["matrixone"])
    with bed.namespace() as namespace:
        apply(bed, namespace, service("web", 80, 8080), web_servers())
        bed.kubectl("rollout", "status", "-n", namespace, "statefulset/thing", "--timeout=60s")
        pods = get(bed, namespace, "pods")["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == {"node-0", "node-1"}
        bed.kubectl("exec", "-n", namespace, "thing-0", "--", "wget", "-qO-", "http://web/")
        testbed.stop_node("node-1", "lossy")
        ended = [process.name for process in testbed.status("lossy").ended]
        assert all(name.startswith("node-1") for name in ended)
        assert "node-1-kubelet" in ended
        testbed.up("lossy", nodes="real")
        bed.kubectl("rollout", "status", "-n", namespace, "statefulset/thing", "--timeout=60s")

        def all_serve() -> bool:
            return all(
                status["ready"]
                for pod in get(bed, namespace, "pods")["items"]
                for status in pod["status"]["containerStatuses"]
            )

        assert eventually(all_serve, 60)
