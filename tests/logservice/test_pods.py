# SPDX-License-Identifier: Apache-2.0
"""What Pods, claims, nodes and annotations say about a log store."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    pods as log_pods,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.failover import (
    Policy,
    Repair,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.pods import (
    Record,
    SetState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import nodes

Json = dict[str, Any]


def node(name: str, ready: str = "True") -> Json:
    return {"metadata": {"name": name}, "status": {"conditions": [_condition("Ready", ready)]}}


def _condition(kind: str, status: str, **more: str) -> Json:
    return {"type": kind, "status": status, **more}


def pod(
    name: str = "mo-log-2",
    *conditions: Json,
    on: str = "node-a",
    revision: str = "new",
    waiting: str = "",
    deleted: str = "",
) -> Json:
    metadata: Json = {
        "name": name,
        "uid": f"uid-of-{name}",
        "labels": {"controller-revision-hash": revision},
    }
    if deleted:
        metadata["deletionTimestamp"] = deleted
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
    status = {"conditions": list(conditions), "containerStatuses": [{"state": state}]}
    return {"metadata": metadata, "spec": {"nodeName": on}, "status": status}


def volume(*hosts: str, key: str = "kubernetes.io/hostname", operator: str = "In") -> Json:
    expression = {"key": key, "operator": operator, "values": list(hosts)}
    term = {"matchExpressions": [expression]}
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}


NO_NODE = _condition("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes fit")
STARTS = _condition("PodReadyToStartContainers", "True")
SETTLED = {"status": {"currentRevision": "new", "updateRevision": "new"}}
ROLLING = {"status": {"currentRevision": "old", "updateRevision": "new"}}
READY_OLD = pod("mo-log-0", _condition("Ready", "True"), revision="old")
READY_NEW = pod("mo-log-1", _condition("Ready", "True"))


def around(*others: Json, workload: Json = SETTLED, **more: Any) -> SetState:
    return SetState([*others], workload, **more)


@pytest.mark.parametrize(
    ("found", "surroundings", "said"),
    [
        (None, around(), "Kubernetes has not created its Pod"),
        (pod(), around(), ""),
        (pod(waiting="CrashLoopBackOff"), around(), ""),
        (pod(waiting="ContainerCreating"), around(), ""),
        (
            pod("mo-log-2", STARTS, waiting="ContainerCreating"),
            around(),
            "its image is being pulled",
        ),
        (
            pod(waiting="ImagePullBackOff"),
            around(),
            "its Pod cannot start (ImagePullBackOff), nor would a new one",
        ),
        (
            pod("mo-log-2", NO_NODE, on=""),
            around(),
            "its Pod waits for a node (0/3 nodes fit)",
        ),
        (
            pod("mo-log-2", NO_NODE, on=""),
            around(nodes={"node-a": node("node-a")}, volumes={"mo-log-2": [volume("node-a")]}),
            "its Pod waits for a node (0/3 nodes fit)",
        ),
        (
            pod("mo-log-2", NO_NODE, on=""),
            around(nodes={"node-a": None}, volumes={"mo-log-2": [volume("node-a")]}),
            "",
        ),
        (pod(deleted="2026-11-21T04:00:00Z"), around(), "its Pod is being deleted"),
        (
            pod(deleted="2026-11-21T04:00:00Z"),
            around(nodes={"node-a": node("node-a", "False")}),
            "its Pod is being deleted",
        ),
        (
            pod(deleted="2026-11-21T04:00:00Z"),
            around(nodes={"node-a": node("node-a", "Unknown")}),
            "",
        ),
        (
            pod(waiting="CrashLoopBackOff"),
            around(READY_OLD, workload=ROLLING),
            "it runs an update that has not come up anywhere yet; correct the spec",
        ),
        (pod(waiting="CrashLoopBackOff"), around(READY_OLD, READY_NEW, workload=ROLLING), ""),
        (pod(waiting="CrashLoopBackOff", revision="old"), around(workload=ROLLING), ""),
    ],
    ids=[
        "no Pod",
        "not ready",
        "it crashes",
        "its volume cannot be mounted",
        "its image is being pulled",
        "there is no such image",
        "no node has room",
        "no node has room, and that of its volume lives",
        "the node of its volume is gone",
        "it is being deleted",
        "its node is not ready but answers",
        "its node is silent",
        "an update that no Pod has survived",
        "an update that another Pod has survived",
        "an update that it does not have",
    ],
)
def test_a_store_is_only_replaced_where_a_new_one_would_come_up(
    found: Json | None, surroundings: SetState, said: str
) -> None:
    assert log_pods.obstacle_of(found, surroundings) == said


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ({}, set()),
        (volume("a", "b"), {"a", "b"}),
        (volume("a", key="topology.kubernetes.io/zone"), set()),
        (volume("a", operator="NotIn"), set()),
    ],
)
def test_the_nodes_of_a_volume_are_known_by_name_or_not_at_all(
    kept: Json, wanted: set[str]
) -> None:
    assert nodes.nodes_of(kept) == wanted


RECORD = Record("mo-log-2", 2, 3, 17.0, True, "uid-of-mo-log-2", {"mo-data-mo-log-2": "claim"})


def logset(**annotations: str) -> Json:
    keys = {
        "repair": log_pods.ANNOTATION_REPAIR,
        "incarnations": "logset.matrixorigin.io/incarnations",
        "bootstrap": "logset.matrixorigin.io/bootstrap",
    }
    given = {keys[name]: text for name, text in annotations.items()}
    spec = {"replicas": 3, "storeFailureTimeout": "90s"}
    return {"metadata": {"name": "mo", "namespace": "n", "annotations": given}, "spec": spec}


def claim(uid: str, **more: str) -> Json:
    return {"metadata": {"name": "mo-data-mo-log-2", "uid": uid, **more}}


NAMESAKE = {"metadata": {"uid": "new", "name": "mo-log-1"}}


def test_a_record_is_read_back_as_it_was_written() -> None:
    assert log_pods.recorded(logset(repair=RECORD.text())) == RECORD
    assert log_pods.recorded(logset()) is None
    for foreign in ("", "[]", "{", '{"pod": 1}', "1"):
        assert log_pods.recorded(logset(repair=foreign)) is None


@pytest.mark.parametrize(
    ("pods", "claims", "gossip", "removed", "touched", "rendered"),
    [
        ([pod()], [claim("claim")], "", False, False, False),
        ([pod()], [claim("claim")], "1 1\n2 3\n", False, False, True),
        ([pod()], [claim("claim")], "2 33\n", False, False, False),
        ([], [claim("claim")], "2 3\n", False, False, True),
        ([pod()], [claim("claim", deletionTimestamp="now")], "2 3\n", False, True, True),
        ([pod()], [], "2 3\n", False, True, True),
        ([], [], "2 3\n", True, True, True),
        ([{"metadata": {"uid": "new"}}], [claim("new")], "2 3\n", True, True, True),
        ([NAMESAKE], [claim("new")], "2 3\n", True, True, True),
    ],
)
def test_objects_are_told_from_their_namesakes(
    pods: list[Json],
    claims: list[Json],
    gossip: str,
    removed: bool,
    touched: bool,
    rendered: bool,
) -> None:
    state = Repair("mo-log-2", 2, 3, 17.0, removed, touched, rendered)
    assert RECORD.state(pods, claims, gossip) == state


def test_policy_and_claims_follow_the_spec() -> None:
    assert log_pods.policy_of(logset()) == Policy(90, 3, served=False)
    founded = logset(bootstrap='[{"ordinal":0,"replicaId":131072}]')
    assert log_pods.policy_of(founded).shard_replicas == 1
    assert log_pods.incarnations(logset(incarnations='{"2":1}')) == {"2": 1}
    assert log_pods.incarnations(logset(incarnations="nonsense")) == {}
    assert log_pods.incarnation_annotation({"10": 1, "2": 4}) == {
        "logset.matrixorigin.io/incarnations": '{"10":1,"2":4}'
    }


@pytest.mark.parametrize(
    ("name", "is_its"),
    [
        ("mo-data-mo-log-2", True),
        ("logs-mo-log-2", True),
        ("mo-data-mo-log-12", False),
        ("restored-mo-data-mo-log-2", False),
        ("mo-data-mo-log-2-copy", False),
        ("mo-log-2", False),
    ],
)
def test_a_store_that_is_replaced_loses_its_own_claims_only(name: str, is_its: bool) -> None:
    """A volume that was restored beside the original has its labels, and most of its name."""
    templates = [{"metadata": {"name": one}} for one in ("mo-data", "logs")]
    live = {"spec": {"volumeClaimTemplates": templates}}

    found = log_pods.claims_of("mo-log-2", live, [{"metadata": {"name": name}}])

    assert bool(found) == is_its


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ({}, False),
        ({"failedPodStrategy": "Delete"}, False),
        ({"failedPodStrategy": "Orphan"}, True),
        ({"pvcRetentionPolicy": "Retain"}, True),
        ({"sharedStorage": {"s3": {"path": "b", "s3RetentionPolicy": "Retain"}}}, True),
        (
            {
                "pvcRetentionPolicy": "Delete",
                "sharedStorage": {"s3": {"path": "b", "s3RetentionPolicy": "Retain"}},
            },
            False,
        ),
    ],
)
def test_volumes_are_kept_where_either_policy_says_so(spec: Json, kept: bool) -> None:
    assert log_pods.keeps_volumes({"metadata": {"name": "mo"}, "spec": spec}) is kept


def test_a_new_store_has_its_time_from_when_its_pod_was_made() -> None:
    born = {"uid": "new", "name": "mo-log-2", "creationTimestamp": "1970-01-01T00:01:40Z"}
    assert RECORD.state([{"metadata": born}], [], "2 3\n").created == 100.0


@pytest.mark.parametrize(
    ("scheduled", "started", "moment"),
    [
        (None, None, 0.0),
        ("False", None, 0.0),
        ("True", None, 3600.0),
        ("True", "1970-01-01T01:20:00Z", 4800.0),
    ],
    ids=["it waits for the scheduler", "it waits for a node", "it has a node", "it has started"],
)
def test_a_pod_is_given_its_time_from_when_it_could_begin(
    scheduled: str | None, started: str | None, moment: float
) -> None:
    made = pod()
    made["status"] = {"conditions": [], "containerStatuses": []}
    if scheduled:
        at = {"lastTransitionTime": "1970-01-01T01:00:00Z"}
        made["status"]["conditions"] = [{"type": "PodScheduled", "status": scheduled, **at}]
    if started:
        state = {"running": {"startedAt": started}}
        made["status"]["containerStatuses"] = [{"name": "main", "state": state}]
    around = SetState([made], {})

    assert log_pods.log_store("mo-log-2", 17.0, around).attempted == moment
    assert log_pods.log_store("mo-log-2", None, around).attempted == 0.0
