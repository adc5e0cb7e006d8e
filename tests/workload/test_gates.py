# SPDX-License-Identifier: Apache-2.0
"""Changes that are held back on purpose, Pods that go first, credentials that outlive a cluster."""

import copy
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.planning import (
    credential,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.scaling import (
    pods_to_delete,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.gates import (
    held_back,
)

from tests.compute.test_drain import store
from tests.support import resources as r
from tests.support.builders import NOW, conditions, pod, serving, workload
from tests.support.passes import (
    plan_of,
    report_on,
)

Json = dict[str, Any]
LATER = "2026-01-02T03:12:05Z"


def cn_set(*said: tuple[str, str, str], **spec: Any) -> Json:
    made: Json = r.cnset(**spec)
    made["metadata"] |= {"uid": "u-1", "generation": 2}
    made["status"] = {"conditions": conditions(*said)}
    return made


def seen(*pods: Json, **more: Any) -> Json:
    live = workload("Deployment", "mo-tp-cn")
    live["spec"]["template"] = {"spec": {"containers": [{"name": "main", "image": "another"}]}}
    log_set = serving("LogSet", "mo")
    log_set["spec"] = r.logset()["spec"]
    found = {"logSet": log_set, "dnSet": serving("DNSet", "mo"), "workload": live}
    return {**found, "pods": list(pods), "now": NOW, **more}


def beginning(started: str = NOW, restarts: int = 0) -> Json:
    made = pod("mo-tp-cn-a", ready=False)
    state = {"running": {"startedAt": started}}
    made["status"]["containerStatuses"] = [
        {"name": "main", "state": state, "restartCount": restarts, "started": False}
    ]
    return made


CREATING = ("Progressing", "True", "Creating")
SERVED = ("Ready", "True", "EnoughReadyStores")


@pytest.mark.parametrize(
    ("resource", "observed", "waiting"),
    [
        (cn_set(SERVED, pauseUpdate=True), seen(), "spec.pauseUpdate holds back changes of Pods"),
        (cn_set(CREATING, pauseUpdate=True), seen(workload=None), ""),
        (cn_set(CREATING), seen(beginning()), "waiting for mo-tp-cn-a to finish the bootstrap"),
        (cn_set(SERVED), seen(beginning()), ""),
        (cn_set(CREATING), seen(beginning(restarts=1)), ""),
        (cn_set(CREATING), seen(beginning(), now=LATER), ""),
        (cn_set(CREATING), seen(pod("mo-tp-cn-a")), ""),
        (cn_set(CREATING), seen(pod("a", ready=False, waiting="ImagePullBackOff")), ""),
    ],
)
def test_what_holds_back_changes_of_compute_nodes(resource, observed, waiting):
    """Somebody's wish, and the first one's bootstrap; never what is broken."""
    plan = plan_of(resource, observed, "#!")

    assert plan["waitingFor"].startswith(waiting)
    assert bool(plan["waitingFor"]) == bool(waiting)
    assert any(one["kind"] == "Deployment" for one in plan["objects"]) != bool(waiting)


def test_a_paused_update_is_told_and_waited_for_by_nobody():
    resource = cn_set(SERVED, pauseUpdate=True, replicas=3)
    plan = plan_of(resource, seen(), "#!")

    told = report_on(resource, plan, seen(), {}, "", NOW)

    said = {one["type"]: (one["status"], one["reason"]) for one in told["status"]["conditions"]}
    assert said["Synced"] == said["Progressing"] == ("False", "Paused")
    assert told["requeue"] == ""
    assert plan["patches"][0]["spec"] == {"replicas": 3}


def test_chosen_pods_go_first_but_after_those_that_serve_no_more():
    nodes = [store("cn-a"), store("cn-b", ready=False), store("cn-c"), store("cn-d")]

    assert pods_to_delete(nodes, 3, 4, ["cn-c"]) == {"cn-c"}
    assert pods_to_delete(nodes, 2, 4, ["cn-c"]) == {"cn-b", "cn-c"}
    assert pods_to_delete(nodes, 4, 4, ["cn-c"]) == frozenset()
    assert pods_to_delete(nodes, 3, 4, ["unheard-of"]) == {"cn-b"}


KEEP = "matrixorigin.io/keep"
LABELS = {"app.kubernetes.io/managed-by": "matrixorigin.matrixone"}


def cluster(policy: str | None) -> Json:
    made: Json = r.cluster()
    made["metadata"] |= {"uid": "u-1", "generation": 2}
    if policy:
        made["spec"]["logService"]["pvcRetentionPolicy"] = policy
    return made


def secret(*, owned: bool, labels: Json | None = None) -> Json:
    owners = [{"uid": "u-1", "kind": "MatrixOneCluster", "name": "mo"}] if owned else []
    metadata = {"name": "mo-credential", "namespace": "prod", "labels": labels or {}}
    return {"kind": "Secret", "metadata": {**metadata, "ownerReferences": owners}}


@pytest.mark.parametrize(
    ("policy", "live", "patched"),
    [
        ("Retain", secret(owned=True, labels=LABELS), ("true", 0)),
        ("Retain", secret(owned=False, labels=LABELS), None),
        ("Delete", secret(owned=False, labels=LABELS), (None, 1)),
        (None, secret(owned=True, labels=LABELS), None),
        ("Retain", secret(owned=True), None),
        ("Delete", secret(owned=False), None),
        ("Delete", None, None),
    ],
)
def test_a_credential_lives_as_long_as_what_it_opens(policy, live, patched):
    """Ours only: what somebody else made is neither owned nor let go."""
    seen = {"credential": live, "logSet": log_set({"lastReplicas": 3})}

    patches = plan_of(cluster(policy), seen)["patches"]

    assert kept_and_owned(patches) == ([patched] if patched else [])


@pytest.mark.parametrize("status", [None, {}, {"replicas": 3}])
@pytest.mark.parametrize("policy", ["Retain", "Delete", None])
def test_a_credential_that_was_there_before_the_log_stores_is_left_alone(policy, status):
    """It opens the data of an earlier cluster, and does not go with one that never used them."""
    seen = {"credential": secret(owned=False, labels=LABELS)}
    seen |= {} if status is None else {"logSet": log_set(status)}

    patches = plan_of(cluster(policy), seen)["patches"]

    assert kept_and_owned(patches) == []


def log_set(status: Json) -> Json:
    return {"kind": "LogSet", "metadata": {"name": "mo"}, "spec": {}, "status": status}


def kept_and_owned(patches: list[Json]) -> list[tuple[str | None, int]]:
    """Return the mark, and how many owners, that patches of Secrets give them."""
    return [
        (one["metadata"]["annotations"][KEEP], len(one["metadata"]["ownerReferences"]))
        for one in patches
        if one["kind"] == "Secret"
    ]


@pytest.mark.parametrize(("policy", "kept"), [("Retain", True), ("Delete", False), (None, False)])
def test_a_new_credential_is_marked_when_it_outlives_its_cluster(policy, kept):
    made = credential(cluster(policy), "secret")

    assert (KEEP in made["metadata"].get("annotations", {})) is kept


def applied_pods() -> tuple[Json, Json]:
    """The Pod template of a live Deployment, and the fields of it that were applied by us."""
    template = {
        "metadata": {"annotations": {"ours": "x", "kubectl.kubernetes.io/restartedAt": "now"}},
        "spec": {
            "nodeSelector": {"disk": "fast", "zone": "a"},
            "tolerations": [{"key": "db", "operator": "Exists", "tolerationSeconds": 5}],
            "dnsPolicy": "ClusterFirst",
            "volumes": [
                {
                    "name": "token",
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}
                        ]
                    },
                }
            ],
            "containers": [
                {
                    "name": "main",
                    "image": "matrixone",
                    "imagePullPolicy": "IfNotPresent",
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    "env": [
                        {
                            "name": "IP",
                            "valueFrom": {
                                "fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}
                            },
                        }
                    ],
                }
            ],
        },
    }
    fields = {
        "f:metadata": {"f:annotations": {"f:ours": {}}},
        "f:spec": {
            "f:nodeSelector": {},
            "f:tolerations": {},
            "f:volumes": {
                'k:{"name":"token"}': {".": {}, "f:name": {}, "f:projected": {"f:sources": {}}}
            },
            "f:containers": {
                'k:{"name":"main"}': {
                    ".": {},
                    "f:name": {},
                    "f:image": {},
                    "f:resources": {"f:limits": {"f:cpu": {}, "f:memory": {}}},
                    "f:env": {
                        'k:{"name":"IP"}': {
                            ".": {},
                            "f:name": {},
                            "f:valueFrom": {"f:fieldRef": {}},
                        }
                    },
                }
            },
        },
    }
    return template, fields


def desired_pods() -> Json:
    """The template as it was rendered: without what others and the server have added."""
    template = copy.deepcopy(applied_pods()[0])
    del template["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"]
    del template["spec"]["dnsPolicy"]
    del template["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"][
        "expirationSeconds"
    ]
    (container,) = template["spec"]["containers"]
    del container["imagePullPolicy"]
    del container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"]
    container["resources"]["limits"] = {"cpu": "1000m", "memory": "1024Mi"}
    return template


REMOVALS = {
    "metadata.annotations": lambda made: made["metadata"].pop("annotations"),
    "spec.nodeSelector": lambda made: made["spec"].pop("nodeSelector"),
    "spec.nodeSelector.zone": lambda made: made["spec"]["nodeSelector"].pop("zone"),
    "spec.tolerations": lambda made: made["spec"].pop("tolerations"),
    "spec.tolerations[0].tolerationSeconds": lambda made: made["spec"]["tolerations"][0].pop(
        "tolerationSeconds"
    ),
    "spec.volumes": lambda made: made["spec"].pop("volumes"),
    "spec.containers[main].resources": lambda made: made["spec"]["containers"][0].pop("resources"),
    "spec.containers[main].resources.limits.cpu": lambda made: made["spec"]["containers"][0][
        "resources"
    ]["limits"].pop("cpu"),
    "spec.containers[main].env": lambda made: made["spec"]["containers"][0].pop("env"),
}


def held_fields(desired: Json, manager: str = "matrixone-operator") -> list[str]:
    live = workload("Deployment", "mo-tp-cn")
    live["spec"]["template"], fields = applied_pods()
    entry = {"manager": manager, "operation": "Apply", "apiVersion": "apps/v1"}
    others = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}
    applied = {"f:spec": {"f:template": fields}}
    live["metadata"]["managedFields"] = [others, {**entry, "fieldsV1": applied}]
    return held_back(live, {"spec": {"template": desired}})


@pytest.mark.parametrize("path", REMOVALS)
def test_what_a_spec_no_longer_asks_for_is_a_change_of_pods(path):
    """Applying removes what this manager applied before: it starts other Pods, as any change."""
    desired = desired_pods()
    REMOVALS[path](desired)

    assert held_fields(desired) == [f"spec.template.{path}"]


def test_what_others_and_the_server_added_is_no_change_of_pods():
    """Defaults, another spelling of a quantity, a restart by kubectl: nothing would change."""
    assert held_fields(desired_pods()) == []
    assert held_fields(applied_pods()[0]) == []


def test_fields_of_another_manager_are_not_removed():
    desired = desired_pods()
    del desired["spec"]["nodeSelector"]

    assert held_fields(desired, manager="helm") == []
