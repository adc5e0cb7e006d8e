# SPDX-License-Identifier: Apache-2.0
"""A cluster's life as a resource: the operator plays the roles, status tells what happens."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import KubectlError
from tests.support.namespaces import CHILDREN, KINDS, Namespace
from tests.support.waiting import eventually, unchanged

from .conftest import tiny_cluster

pytestmark = pytest.mark.api


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[dict[str, Any]]:
    """A cluster that serves; taken away at the end."""
    resource = tiny_cluster(space.name)
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    space.kubectl("delete", "mo", "--all", "--ignore-not-found", "--timeout=120s")


def test_printer_columns_say_what_is_there(space, cluster):
    """kubectl get shows readiness, counts and version from the status."""
    columns = space.kubectl("get", "mo", "mo", "--no-headers").split()

    assert columns[:8] == ["mo", "True", "AllSetsReady", "3/3", "1/1", "1/1", "1/1", "3.0.18"]
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
    """What the operator made goes when its owner goes; but volumes go by name, when their time is.

    An owner would take them along whoever deletes it.
    """
    made = [
        one
        for one in space.listed(f"{CHILDREN},{KINDS}")
        if one["metadata"]["name"] != "kube-root-ca.crt" and one["kind"] != "PersistentVolumeClaim"
    ]

    assert len(made) > 20
    for one in made:
        owners = one["metadata"].get("ownerReferences") or []
        name = f"{one['kind']}/{one['metadata']['name']}"
        assert [owner["controller"] for owner in owners] == [True], name


def test_idle_costs_nothing(space, cluster, operator):
    """A healthy cluster causes no writes and no passes."""
    unchanged(lambda: (space.versions(), operator.stat().st_size), 14)


def test_a_pass_that_changes_nothing_ends_after_one_look(space, cluster, operator):
    """Two tasks, the check of the role's arguments included, for each that is touched."""
    # Here nobody answers for compute nodes that came up lately: they are asked about again.
    touched = {"mo": "mo", "dnset": "mo", "proxyset": "mo"}

    def touch(word: str) -> None:
        for kind, name in touched.items():
            space.kubectl("annotate", "--overwrite", kind, name, f"touched={word}")

    def short_passes() -> int:
        return len(re.findall(r"localhost +: ok=2 ", operator.read_text()[before:]))

    touch("once")  # what their Pods said last may not have been in the status yet
    unchanged(lambda: operator.stat().st_size, 3)
    before = len(operator.read_text())
    touch("twice")
    eventually(lambda: short_passes() >= len(touched))


def test_a_change_that_matters_to_nobody_leads_to_no_play(space, cluster, operator):
    """One look without a play is enough, as for what is due again."""
    unchanged(lambda: operator.stat().st_size, 3)
    before = len(operator.read_text())
    space.kubectl("annotate", "poddisruptionbudget", "mo-proxy", "touched=once")

    eventually(lambda: "Nothing to do" in operator.read_text()[before:])
    assert "PodDisruptionBudget mo-proxy modified" in operator.read_text()[before:]
    assert "PLAY RECAP" not in operator.read_text()[before:]


def test_what_others_take_away_or_change_comes_back(space, cluster):
    """One look sees an object that is missing, and a field that is not as it was applied."""
    space.kubectl("delete", "service", "mo-log-discovery")
    space.kubectl("scale", "deployment", "mo-proxy", "--replicas=0")
    space.kubectl("label", "poddisruptionbudget", "mo-log", "app.kubernetes.io/name-")

    eventually(lambda: "service/mo-log-discovery" in space.names("service"))
    eventually(lambda: space.get("deployment", "mo-proxy")["spec"]["replicas"] == 1)
    budget = "poddisruptionbudget"
    eventually(
        lambda: "app.kubernetes.io/name" in space.get(budget, "mo-log")["metadata"]["labels"]
    )
    space.wait("Ready")


def test_change_reaches_every_part(space, cluster):
    """When the cluster is synced, every Pod runs the new version; the status soon says so.

    A set is synced by its workload; that the last Pod is gone, it sees in the list of Pods.
    """
    for part in (cluster["spec"]["tn"], cluster["spec"]["cnGroups"][0]):
        part["config"] = '[log]\nlevel = "debug"\n'
    cluster["spec"]["version"] = "3.0.19"
    space.apply(cluster)
    space.wait("Synced")
    space.wait("Ready")

    found = space.get("mo", "mo")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    eventually(lambda: space.get("mo", "mo")["status"]["version"] == "3.0.19")
    images = {one["spec"]["containers"][0]["image"] for one in space.listed("pods")}
    assert images == {"matrixorigin/matrixone:3.0.19"}


def test_config_maps_stay_while_they_can_be_rolled_back_to(space, cluster):
    """A ConfigMap of an old revision goes when no ReplicaSet mentions it any longer."""
    configs = {name for name in space.names("configmap") if "mo-tp-cn-config-" in name}
    assert len(configs) == 2
    used = space.get("deployment", "mo-tp-cn")["spec"]["template"]["spec"]["volumes"]
    (kept,) = [one["configMap"]["name"] for one in used if "configMap" in one]
    for replica_set in space.listed("replicaset"):
        name = replica_set["metadata"]["name"]
        if "mo-tp-cn" in name and replica_set["spec"]["replicas"] == 0:
            space.kubectl("delete", "replicaset", name)
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
    eventually(lambda: _is(space.condition("mo", "mo", "Ready"), "InvalidSpec"))
    columns = space.kubectl("get", "mo", "mo", "--no-headers").split()
    assert columns[:6] == ["mo", "True", "InvalidSpec", "3/3", "1/1", "1/1"]
    waited = "--for=condition=Ready", "mo/mo", "--timeout=3s"
    with pytest.raises(KubectlError):
        space.kubectl("wait", *waited)
    assert space.condition("mo", "mo", "Stalled")["reason"] == "InvalidSpec"

    cluster["spec"]["tn"]["config"] = '[log]\nlevel = "info"\n'
    space.apply(cluster)
    space.wait("Synced")
    space.kubectl("wait", *waited)


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
    space.wait("Synced")


def test_replicas_that_are_left_out_belong_to_others(space, cluster):
    """kubectl scale on a group of open size is not reverted by the cluster."""
    del cluster["spec"]["cnGroups"][0]["replicas"]
    space.apply(cluster)
    space.wait("Synced")
    space.kubectl("scale", "cnset", "mo-tp", "--replicas=3")

    eventually(lambda: space.get("deployment", "mo-tp-cn")["status"].get("readyReplicas") == 3)
    space.kubectl("annotate", "mo", "mo", "touch=1", "--overwrite")
    eventually(lambda: space.get("mo", "mo")["status"]["readable"]["cn"] == "3/3")
    time.sleep(3)
    assert space.get("cnset", "mo-tp")["spec"]["replicas"] == 3


def test_an_autoscaler_is_left_alone(space, cluster):
    """A real HorizontalPodAutoscaler brings the group to its least size; the cluster keeps that."""
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    spec = {
        "scaleTargetRef": {key: space.get("cnset", "mo-tp")[key] for key in ("apiVersion", "kind")},
        "minReplicas": 4,
        "maxReplicas": 5,
        "metrics": [{"type": "Resource", "resource": cpu}],
    }
    spec["scaleTargetRef"]["name"] = "mo-tp"
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    space.apply({**scaler, "metadata": {"name": "tp"}, "spec": spec})

    eventually(lambda: space.get("cnset", "mo-tp")["spec"]["replicas"] == 4)
    space.kubectl("annotate", "mo", "mo", "touch=2", "--overwrite")
    eventually(lambda: space.get("mo", "mo")["status"]["readable"]["cn"] == "4/4")
    time.sleep(3)
    assert space.get("cnset", "mo-tp")["spec"]["replicas"] == 4
    space.kubectl("delete", "hpa", "tp")


def test_removed_parts_go(space, cluster):
    """Without proxy in the spec there is no proxy, and SQL goes to the CN group."""
    del cluster["spec"]["proxy"]
    space.apply(cluster)

    eventually(lambda: not space.get("proxyset", "mo") and not space.get("deployment", "mo-proxy"))
    eventually(lambda: space.get("mo", "mo")["status"].get("host") == f"mo-tp-cn.{space.name}")
    assert "proxy" not in space.get("mo", "mo")["status"]


def test_events_tell_the_story(space, cluster):
    """What a human would want to know was told, and nothing was told twice in a row."""
    told = [
        (one["regarding"]["kind"], one["reason"])
        for one in space.events()
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
