# SPDX-License-Identifier: Apache-2.0
"""What one pass over a set does."""

import copy
import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.rollout import (
    is_on_purpose,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.plans import is_paused

from tests.support.builders import conditions, resource, serving, workload
from tests.support.passes import (
    plan_of,
    references_of,
)

BOOTSTRAP = "logset.matrixorigin.io/bootstrap"
MEMBERS = [{"ordinal": ordinal, "replicaId": 131072 + ordinal} for ordinal in range(3)]

HELD = conditions(("Ready", "True", "X"), ("Synced", "False", "Paused"))
HELD[1]["message"] = "held at partition 2: 1/3 log stores run what the spec asks for"


def log_set(**spec: Any) -> dict[str, Any]:
    made = resource("LogSet")
    made["spec"].update(
        volume={"size": "1Gi"},
        sharedStorage={"fileSystem": {"path": "/shared"}},
        **{"overlay": {"volumeMounts": [{"name": "tmp", "mountPath": "/shared"}]}, **spec},
    )
    return made


def dn_set(**spec: Any) -> dict[str, Any]:
    made = resource("DNSet", replicas=1)
    made["spec"].update(spec)
    made["deps"] = {"logSet": {"metadata": {"name": "mo", "namespace": "prod"}}}
    return made


def serving_log_set(generation: int = 2) -> dict[str, Any]:
    found = log_set()
    found["metadata"]["generation"] = generation
    found["status"] = serving("LogSet", "mo")["status"]
    return found


def names_of(objects: list[dict[str, Any]]) -> list[str]:
    return [f"{one['kind']}/{one['metadata']['name']}" for one in objects]


def test_first_pass_over_a_log_set():
    """The members are recorded before anything is created, and what founded it is made once."""
    plan = plan_of(log_set(), {"self": log_set()}, "#!/bin/sh\n")

    (record,) = plan["records"]
    assert record["kind"] == "LogSet"
    assert json.loads(record["metadata"]["annotations"][BOOTSTRAP]) == MEMBERS
    assert set(record) == {"apiVersion", "kind", "metadata"}
    assert "ConfigMap/mo-log-bootstrap" in plan["createOnly"]
    assert "StatefulSet/mo-log" in names_of(plan["objects"])
    assert plan["workload"] == "StatefulSet/mo-log"
    assert plan["prune"] is not None
    assert plan["prune"]["owner_uid"] == "u-1"


def test_recorded_members_are_kept():
    """What was decided once is used verbatim, whatever the spec says, and not recorded again."""
    live = log_set()
    recorded = [{"ordinal": 0, "replicaId": 131072}]
    live["metadata"]["annotations"] = {BOOTSTRAP: json.dumps(recorded)}

    plan = plan_of(log_set(), {"self": live}, "")

    assert plan["records"] == []
    made = next(one for one in plan["objects"] if one["metadata"]["name"] == "mo-log-bootstrap")
    text = made["data"]["bootstrap.toml"]
    assert '["131072:00000000-0000-0000-0000-000000000000"]' in text


def test_lost_record_is_read_back_from_the_config_map():
    """The bootstrap ConfigMap tells who founded the log service when the annotation is gone."""
    first = plan_of(log_set(replicas=1), {"self": log_set()}, "")
    config = next(one for one in first["objects"] if one["metadata"]["name"] == "mo-log-bootstrap")

    plan = plan_of(log_set(replicas=5), {"self": log_set(), "bootstrap": config}, "")

    text = plan["records"][0]["metadata"]["annotations"][BOOTSTRAP]
    assert json.loads(text) == MEMBERS[:1]


def test_without_a_resource_in_the_cluster_nothing_is_recorded():
    """A playbook has no LogSet to write on; the ConfigMap is the record."""
    alone = log_set()
    del alone["metadata"]["uid"]

    assert plan_of(alone, {"self": None}, "")["records"] == []


def test_unreadable_record_is_an_unusable_spec():
    """A mangled annotation stops the pass and names itself; nobody bootstraps twice by mistake."""
    live = log_set()
    live["metadata"]["annotations"] = {BOOTSTRAP: "not json"}

    plan = plan_of(log_set(), {"self": live}, "")

    assert BOOTSTRAP in plan["invalid"]
    assert plan["objects"] == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"volume": {}}, "spec.volume.size"),
        ({"sharedStorage": {}}, "spec.sharedStorage"),
        ({"config": "a = "}, "spec.config"),
    ],
)
def test_unusable_specs_name_the_field(spec, said):
    """Nothing is applied, nothing pruned."""
    subject = log_set()
    subject["spec"].update(spec)

    plan = plan_of(subject, {"self": log_set()}, "")

    assert plan["invalid"].startswith(said)
    assert plan["objects"] == []
    assert plan["prune"] is None


@pytest.mark.parametrize(
    ("dependency", "said"),
    [
        (None, "waiting for LogSet mo: it does not exist"),
        (resource("LogSet"), "waiting for LogSet mo: not ready"),
        (
            {**resource("LogSet"), "status": {"conditions": conditions(("Ready", "True", "X"))}},
            "waiting for LogSet mo: not synced",
        ),
        (
            {**resource("LogSet"), "status": {"conditions": HELD}},
            "waiting for LogSet mo: held at partition 2: 1/3 log stores run what the spec asks for",
        ),
    ],
)
def test_gate_holds_creation_back(dependency, said):
    """No workload before its dependency serves; the message says what that one lacks."""
    seen = dependency
    if dependency is not None:
        seen = {**log_set(), **{key: dependency[key] for key in dependency if key == "status"}}

    plan = plan_of(dn_set(), {"logSet": seen}, "")

    assert plan["waitingFor"].startswith(said)
    assert "StatefulSet/mo-dn" not in names_of(plan["objects"])
    assert plan["patches"] == []
    assert plan["prune"] is None


def played(made: dict[str, Any]) -> dict[str, Any]:
    del made["metadata"]["uid"]
    return made


@pytest.mark.parametrize(
    ("partition", "updated", "said"),
    [
        (2, 1, "waiting for LogSet mo: held at partition 2: 1/3 log stores run what the spec asks"),
        (3, 0, "waiting for LogSet mo: held at partition 3: 0/3 log stores run what the spec asks"),
        (2, 0, ""),
        (2, 3, ""),
        (0, 1, ""),
    ],
)
def test_a_playbook_holds_back_what_depends_on_a_set_that_is_held(partition, updated, said):
    """There is no status to read in a playbook: the workload of the dependency tells."""
    sibling = played(log_set(updateStrategy={"partition": partition}))
    node = played(dn_set())
    looks = references_of(node, [sibling])
    assert looks.get("logSetWorkload", {}).get("name") == ("mo-log" if partition else None)
    seen = {"logSetWorkload": workload(updatedReplicas=updated)}

    plan = plan_of(node, seen, "", {"logSet": sibling})

    assert plan["waitingFor"].startswith(said) if said else plan["waitingFor"] == ""
    assert ("StatefulSet/mo-dn" in names_of(plan["objects"])) == (not said)
    assert is_on_purpose(plan["waitingFor"]) == bool(said)


def test_a_playbook_holds_back_compute_nodes_while_the_transaction_nodes_are_held():
    """And scales them all the same."""
    node = played(dn_set(updateStrategy={"partition": 1}))
    group = played(resource("CNSet", "mo-tp"))
    siblings = [played(log_set()), node]
    group["deps"] = {**node["deps"], "dnSet": {"metadata": {"name": "mo", "namespace": "prod"}}}
    assert references_of(group, siblings)["dnSetWorkload"]["name"] == "mo-dn"
    one = {"wanted": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 0}
    live = workload("Deployment", "mo-tp-cn")
    live["spec"]["template"] = {}
    seen = {"dnSetWorkload": workload(name="mo-dn", **one), "workload": live}

    plan = plan_of(group, seen, "", {"logSet": siblings[0], "dnSet": node})

    assert plan["waitingFor"].startswith("waiting for DNSet mo: held at partition 1: 0/1")
    assert [one["spec"] for one in plan["patches"]] == [{"replicas": 3}]


def test_what_only_time_mends_is_not_on_purpose():
    assert is_on_purpose("spec.pauseUpdate holds back changes of Pods")
    assert not is_on_purpose("waiting for mo-tp-cn-a to finish the bootstrap of the database")
    assert not is_on_purpose("waiting for LogSet mo: not ready")
    assert not is_on_purpose("")


def test_gate_waits_for_the_dependency_s_generation():
    """A dependency that has just been changed is waited for, though it was ready before."""
    plan = plan_of(dn_set(), {"logSet": serving_log_set(generation=3)}, "")

    assert "its latest change has not been applied yet" in plan["waitingFor"]


def test_open_gate():
    """A dependency that is ready and synced holds nothing back."""
    plan = plan_of(dn_set(), {"logSet": serving_log_set()}, "")

    assert plan["waitingFor"] == ""
    assert "StatefulSet/mo-dn" in names_of(plan["objects"])


def workload_of(plan: Any, name: str = "mo-dn") -> dict[str, Any]:
    return copy.deepcopy(
        next(
            one
            for one in plan["objects"]
            if one["kind"] == "StatefulSet" and one["metadata"]["name"] == name
        )
    )


def test_gate_never_holds_back_scaling():
    """With a closed gate and another template, only the replicas are set."""
    live = workload_of(plan_of(dn_set(replicas=0), {"logSet": serving_log_set()}, ""))
    closed = {"logSet": log_set(), "workload": live}

    plan = plan_of(dn_set(image="matrixorigin/matrixone:1.3.1"), closed, "")

    assert plan["waitingFor"]
    assert any("image" in path for path in plan["held"])
    (scaled,) = plan["patches"]
    assert scaled["spec"] == {"replicas": 1}
    assert "StatefulSet/mo-dn" not in names_of(plan["objects"])


def test_gate_leaves_an_unchanged_template_alone():
    """With a closed gate and the same template, everything goes on as usual."""
    live = workload_of(plan_of(dn_set(replicas=0), {"logSet": serving_log_set()}, ""))
    live["spec"]["template"]["spec"]["dnsPolicy"] = "ClusterFirst"

    plan = plan_of(dn_set(), {"logSet": log_set(), "workload": live}, "")

    assert plan["waitingFor"] == ""
    assert "StatefulSet/mo-dn" in names_of(plan["objects"])
    assert plan["prune"] is not None


def test_siblings_of_a_playbook_are_not_gated():
    """A playbook brings dependencies up itself; its resources have no uid and no status."""
    subject = dn_set()
    del subject["metadata"]["uid"]

    plan = plan_of(subject, {}, "", {"logSet": log_set(), "dnSet": None, "cnSet": None})

    assert plan["waitingFor"] == ""
    assert "StatefulSet/mo-dn" in names_of(plan["objects"])


@pytest.mark.parametrize(
    ("annotations", "paused"),
    [
        ({}, False),
        ({"matrixorigin.io/skip-sync": "true"}, True),
        ({"matrixorigin.io/paused": "y"}, True),
        ({"matrixorigin.io/paused": "false"}, False),
        ({"matrixorigin.io/skip-sync": ""}, False),
    ],
)
def test_pause(annotations, paused):
    """Any value but an empty or negative one pauses, and then nothing is done."""
    subject = log_set()
    subject["metadata"]["annotations"] = annotations

    assert is_paused(subject) == paused
    plan = plan_of(subject, {"self": subject}, "")
    assert plan["paused"] == paused
    assert bool(plan["objects"]) != paused


@pytest.mark.parametrize(
    ("told", "kept", "nodes", "expected"),
    [
        pytest.param("0 2 1 7\n", "0 2 1 5\n", 1, "0 2 1 7\n", id="what HAKeeper says"),
        pytest.param("", "0 2 1 5\n", 1, "0 2 1 5\n", id="what it said before"),
        pytest.param("", "0 2 1 5\n", 0, "0 2 1 5\n", id="what it said before it was stopped"),
        pytest.param("", None, 1, "", id="nothing yet"),
    ],
)
def test_what_transaction_nodes_serve_outlives_their_pods(told, kept, nodes, expected):
    observed = {
        "logSet": serving_log_set(),
        "results": {"asked": True, "reached": bool(told), "tnShards": told},
        "shards": None if kept is None else {"data": {"shards": kept}},
        "workload": {"metadata": {}, "spec": {"replicas": nodes}},
    }
    subject = dn_set()
    subject["spec"]["replicas"] = nodes
    plan = plan_of(subject, observed, "")
    found = next(one for one in plan["objects"] if one["metadata"]["name"] == "mo-dn-shards")
    assert found["data"] == {"shards": expected}
    assert found in plan["objects"][: names_of(plan["objects"]).index("StatefulSet/mo-dn")]


def test_references_of_a_set():
    """The workload, its Pods, and what deps name, in the namespaces they name."""
    subject = resource("CNSet", "mo-tp")
    subject["deps"] = {
        "logSet": {"metadata": {"name": "mo", "namespace": "logs"}},
        "dnSet": {"metadata": {"name": "mo"}},
    }

    found = references_of(subject)

    assert (found["workload"]["kind"], found["workload"]["name"]) == ("Deployment", "mo-tp-cn")
    assert found["pods"]["labels"]["matrixorigin.io/instance"] == "mo-tp"
    assert (found["logSet"]["namespace"], found["dnSet"]["namespace"]) == ("logs", "prod")
    assert "cnset" not in found


def test_references_of_a_cluster():
    """Each child, the groups by label, and the Secret that the spec names."""
    subject = resource("MatrixOneCluster")
    subject["spec"] = {"credentialSecretRef": {"name": "mine"}}

    found = references_of(subject)

    assert found["logSet"]["name"] == "mo"
    assert found["cnSets"]["labels"] == {"matrixorigin.io/cluster": "mo"}
    assert found["credential"]["name"] == "mine"


@pytest.mark.parametrize(
    ("uid", "present", "wanted", "said"),
    [
        ("u-1", 5, 3, ""),
        ("u-1", 5, 0, ""),
        ("u-1", 3, 5, ""),
        ("u-1", 3, 1, "cannot be lowered below the number of replicas of a log shard (3)"),
        ("", 5, 4, ""),
        ("", 5, 3, "can be lowered by one at a time without an operator, to 4 now"),
        ("", 5, 0, ""),
    ],
)
def test_a_log_service_is_lowered_as_far_as_its_shards_allow(uid, present, wanted, said):
    """An operator takes the steps one after the other; a playbook is played once per step."""
    found = log_set(replicas=wanted)
    found["metadata"]["uid"] = uid
    (live,) = [
        one
        for one in plan_of(log_set(replicas=present), {}, "#!/bin/sh\n")["objects"]
        if one["kind"] == "StatefulSet"
    ]
    own = log_set(replicas=present)
    own["metadata"]["annotations"] = {BOOTSTRAP: json.dumps(MEMBERS)}
    plan = plan_of(found, {"self": own if uid else None, "workload": live}, "#!/bin/sh\n")

    assert said in plan["invalid"]
    assert bool(plan["invalid"]) == bool(said)


def stopped(now, last, policy, stores=5):
    """What a pass decides about a set of some stores that was stopped and is started again."""
    found = log_set(replicas=now, pvcRetentionPolicy=policy)
    found["metadata"] |= {"uid": "u-1", "annotations": {BOOTSTRAP: json.dumps(MEMBERS)}}
    found["status"] = {} if last is None else {"lastReplicas": last}
    halted = log_set(replicas=0)
    (live,) = [
        one for one in plan_of(halted, {}, "#!/bin/sh\n")["objects"] if one["kind"] == "StatefulSet"
    ]
    claims = [
        {"metadata": {"name": f"mo-data-mo-log-{n}", "namespace": "prod", "uid": f"c-{n}"}}
        for n in range(stores)
    ]
    seen = {"self": found, "workload": live, "claims": claims}
    return plan_of(log_set(replicas=now, pvcRetentionPolicy=policy), seen, "#!/bin/sh\n")


@pytest.mark.parametrize(
    ("now", "last", "policy", "said"),
    [
        (3, 5, "Delete", "must be at least 5, as before the log service was stopped"),
        (4, 5, "Retain", "must be at least 5, as before the log service was stopped"),
        (3, None, "Delete", "must be at least 5, as before the log service was stopped"),
        (3, None, "Retain", ""),
        (5, 5, "Delete", ""),
        (7, 5, "Delete", ""),
        (3, 3, "Delete", ""),
        (0, 5, "Delete", ""),
    ],
    ids=[
        "fewer",
        "fewer, volumes stay",
        "what the volumes tell",
        "volumes of stores that left may be there, too",
        "as many",
        "more",
        "it was lowered before it was stopped",
        "still stopped",
    ],
)
def test_a_stopped_log_service_starts_with_all_its_stores(now, last, policy, said):
    """Shards may have a majority of their replicas on the stores that would stay away."""
    assert said in stopped(now, last, policy)["invalid"]
    assert bool(stopped(now, last, policy)["invalid"]) == bool(said)


def test_claims_of_a_set_before_this_one_refuse_nothing():
    """They are being collected with it; nobody looks again at a spec that is refused."""
    found = log_set(replicas=3)
    claims = [{"metadata": {"name": "mo-data-mo-log-4", "namespace": "prod", "uid": "c-4"}}]

    assert plan_of(found, {"workload": None, "claims": claims}, "#!/bin/sh\n")["invalid"] == ""


@pytest.mark.parametrize(
    ("present", "wanted", "results", "volumes", "size", "generations"),
    [
        (5, 4, {"replicas": 4}, {}, 4, {"StatefulSet/mo-log": 7}),
        (5, 3, {}, {}, 3, {"StatefulSet/mo-log": 7}),
        (5, 0, {}, {}, 0, {"StatefulSet/mo-log": 7}),
        (5, 3, {"replicas": 5}, {}, 5, {}),
        (3, 5, {}, {}, 5, {}),
        (5, 4, {"replicas": 4}, {"remade": True}, 5, {}),
    ],
    ids=["one leaves", "several leave", "stop", "kept", "scale-out", "volumes have grown"],
)
def test_stores_leave_only_a_workload_that_nobody_has_changed_since(
    present, wanted, results, volumes, size, generations
):
    """Who was frozen may go on when the next leader has decided, and a volume goes with a store."""
    found = log_set(replicas=wanted)
    live = workload_of(plan_of(log_set(replicas=present), {}, "#!/bin/sh\n"), "mo-log")
    live["metadata"]["generation"] = 7
    seen = {"self": log_set(), "workload": live, "results": results, "volumes": volumes}

    plan = plan_of(found, seen, "#!/bin/sh\n")

    assert workload_of(plan, "mo-log")["spec"]["replicas"] == size
    assert plan["generations"] == generations


def test_scaling_alone_is_bound_to_the_workload_as_it_was_observed():
    """With a closed gate, too."""
    live = workload_of(plan_of(dn_set(), {"logSet": serving_log_set()}, ""))
    live["metadata"]["generation"] = 7
    closed = {"logSet": log_set(), "workload": live}

    plan = plan_of(dn_set(image="matrixorigin/matrixone:1.3.1", replicas=0), closed, "")

    assert [one["spec"] for one in plan["patches"]] == [{"replicas": 0}]
    assert plan["generations"] == {"StatefulSet/mo-dn": 7}
