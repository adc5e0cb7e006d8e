# SPDX-License-Identifier: Apache-2.0
"""What a pass over a cluster does, and how a cluster is taken away."""

import base64

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.planning import (
    credential,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.removal import (
    drains_of_cluster,
    removal_of_leftovers,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.removal import (
    scaled_to_zero,
)

from tests.support.builders import resource
from tests.support.passes import (
    plan_of,
    removal_of,
)


def cluster(**spec):
    made = resource("MatrixOneCluster")
    made["spec"] = {
        "version": "1.3.0",
        "logService": {
            "replicas": 3,
            "volume": {"size": "1Gi"},
            "sharedStorage": {"fileSystem": {"path": "/shared", "claim": {"size": "1Gi"}}},
        },
        "tn": {"replicas": 1},
        "cnGroups": [{"name": "tp", "replicas": 1}],
        "proxy": {"replicas": 1},
        **spec,
    }
    return made


def by_playbook(**spec):
    made = cluster(**spec)
    del made["metadata"]["uid"]
    return made


def kinds_of(chosen):
    return [one["kind"] for one in chosen["kinds"]]


def test_children_and_prune():
    """Children in the order of their creation; groups, proxy and web UI that are not wanted go."""
    plan = plan_of(cluster(), {"credential": None})

    assert [one["kind"] for one in plan["objects"]] == ["LogSet", "DNSet", "CNSet", "ProxySet"]
    assert plan["credential"] == "mo-credential"
    assert kinds_of(plan["prune"]) == ["CNSet", "ProxySet", "WebUI"]
    assert plan["prune"]["owner_uid"] == "u-1"


def test_playbook_has_no_children_to_prune():
    """Without a resource there is no owner; selecting by nothing must never happen."""
    assert plan_of(by_playbook(), {})["prune"] is None


def test_secret_of_the_user():
    """A Secret that the spec names is used, waited for, and never made."""
    named = cluster(credentialSecretRef={"name": "mine"})

    missing = plan_of(named, {"credential": None})
    there = plan_of(named, {"credential": {"metadata": {"name": "mine"}}})

    assert missing["credential"] == there["credential"] == ""
    assert "Secret mine" in missing["waitingFor"]
    assert there["waitingFor"] == ""


def test_unusable_and_paused():
    """Neither does anything."""
    broken = plan_of(cluster(tn=None), {})
    paused = cluster()
    paused["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}

    assert broken["invalid"].startswith("spec.tn")
    assert broken["objects"] == []
    assert plan_of(paused, {})["paused"]


def test_credential_manifest():
    """User dump, the given password, and no owner but what apply adds."""
    made = credential(cluster(), "a-password")

    assert base64.b64decode(made["data"]["username"]) == b"dump"
    assert base64.b64decode(made["data"]["password"]) == b"a-password"
    assert made["metadata"]["name"] == "mo-credential"


def test_teardown_of_a_resource_is_in_stages():
    """What serves clients goes first, the log service last, by owner alone."""
    steps = removal_of(cluster())

    assert [kinds_of(step["prune"]) for step in steps] == [
        ["CNSet", "ProxySet", "WebUI"],
        ["DNSet"],
        ["LogSet"],
    ]
    assert all(step["prune"]["owner_uid"] == "u-1" for step in steps)
    assert all(step["gone"] == step["prune"] for step in steps)


def test_a_cluster_that_is_deleted_alone_frees_what_it_owns():
    """Also what the garbage collector, which does so too, has missed."""
    deleted = cluster()
    deleted["metadata"]["finalizers"] = ["orphan"]

    (step,) = removal_of(deleted)

    assert (step["objects"], step["prune"], step["gone"]) == ([], None, None)
    kinds = ["RestoreJob", "CNSet", "ProxySet", "WebUI", "DNSet", "LogSet"]
    assert (kinds_of(step["free"]), step["free"]["owner_uid"]) == (kinds, "u-1")
    owners = {
        one["metadata"]["name"]: one["metadata"]["ownerReferences"] for one in step["patches"]
    }
    assert owners == {"mo-credential": [], "mo-credential-accepted": []}


DRAINS = {"name": "tp", "replicas": 1, "terminationPolicy": "Drain"}


@pytest.mark.parametrize(
    ("groups", "patience"),
    [
        ([DRAINS], 375),
        ([{"name": "ap", "replicas": 1}, DRAINS], 375),
        ([{**DRAINS, "scalingConfig": {"storeDrainTimeout": "1h", "minDelaySeconds": 5}}], 3665),
    ],
)
def test_proxies_stay_until_compute_nodes_have_drained(groups, patience):
    """Sessions that are waited for came through them; the drain has its own time."""
    drain, *rest = removal_of(cluster(cnGroups=groups))

    assert kinds_of(drain["prune"]) == kinds_of(drain["gone"]) == ["CNSet"]
    assert drain["gone"]["excluding"] == {"matrixorigin.io/drained": ["true"]}
    assert not drain["awaits_deleted"]
    assert [step["patience"] for step in (drain, *rest)] == [patience, 0, 0, 0]
    undrained = removal_of(cluster())
    assert rest == [{**undrained[0], "patches": []}, *undrained[1:]]


def test_draining_to_scale_in_keeps_no_cluster():
    drains = {"name": "tp", "replicas": 1, "scalingConfig": {"storeDrainEnabled": True}}

    steps = removal_of(cluster(cnGroups=[drains]))

    assert kinds_of(steps[0]["prune"]) == ["CNSet", "ProxySet", "WebUI"]
    assert not any(step["patience"] for step in steps)


@pytest.mark.parametrize(
    ("service", "told"),
    [
        ({}, [("LogSet", "Delete")]),
        ({"pvcRetentionPolicy": "Retain"}, [("LogSet", "Retain"), *2 * [("Secret", None)]]),
        (
            {"sharedStorage": {"s3": {"path": "a", "s3RetentionPolicy": "Retain"}}},
            [("LogSet", "Retain"), *2 * [("Secret", None)]],
        ),
    ],
)
def test_what_goes_first_is_told_the_newest_policy(service, told):
    """A policy may be younger than the last pass, and a pause may have kept it from the parts."""
    resource = cluster(logService={"replicas": 3, **service})

    first, *others = removal_of(resource)

    patches = [
        (one["kind"], one.get("spec", {}).get("pvcRetentionPolicy")) for one in first["patches"]
    ]
    assert patches == told
    assert not any(step["patches"] for step in others)


@pytest.mark.parametrize(
    ("service", "policy"),
    [
        ({}, "Delete"),
        ({"pvcRetentionPolicy": "Retain"}, "Retain"),
        ({"sharedStorage": {"s3": {"path": "a", "s3RetentionPolicy": "Retain"}}}, "Retain"),
        (
            {
                "pvcRetentionPolicy": "Retain",
                "sharedStorage": {"s3": {"path": "a", "s3RetentionPolicy": "Delete"}},
            },
            "Delete",
        ),
    ],
)
def test_the_log_service_is_told_the_newest_policy_of_the_bucket(service, policy):
    storage = {"sharedStorage": {"s3": {"path": "a"}}}
    first, *_others = removal_of(cluster(logService={"replicas": 3, **storage, **service}))

    assert first["patches"][0]["spec"]["sharedStorage"] == {"s3": {"s3RetentionPolicy": policy}}


def test_a_given_credential_is_not_touched():
    resource = cluster(
        logService={"replicas": 3, "pvcRetentionPolicy": "Retain"},
        credentialSecretRef={"name": "mine"},
    )

    first, *_others = removal_of(resource)

    assert [one["metadata"]["name"] for one in first["patches"]] == [
        "mo",
        "mo-credential-accepted",
    ]


def test_teardown_by_playbook():
    """Objects are found by cluster and component; the credential goes last."""
    steps = removal_of(by_playbook())

    components = [
        step["prune"]["labels"]["matrixorigin.io/component"] for step in steps if step["prune"]
    ]
    assert components == ["CNSet", "ProxySet", "WebUI", "DNSet", "LogSet", "LogSet"]
    volumes = steps[-2]["prune"]
    assert [one["kind"] for one in volumes["kinds"]] == ["PersistentVolumeClaim"]
    # Claims have the labels that their StatefulSet selects by, and none of the cluster.
    assert "matrixorigin.io/cluster" not in volumes["labels"]
    for step in steps[:-2]:
        assert step["prune"]["labels"]["matrixorigin.io/cluster"] == "mo"
        assert step["propagation"] == "Foreground"
    assert [one["metadata"]["name"] for one in steps[-1]["objects"]] == [
        "mo-credential",
        "mo-credential-accepted",
    ]


SHEDS = {"name": "ap", "replicas": 1, "scalingConfig": {"storeDrainEnabled": True}}
GOES = {"name": "xx", "replicas": 1}


@pytest.mark.parametrize(
    ("groups", "looks"),
    [
        ([GOES], []),
        ([DRAINS, GOES], [("mo-tp", True)]),
        ([SHEDS], [("mo-ap", False)]),
        ([DRAINS, SHEDS], [("mo-tp", False), ("mo-ap", False), ("mo-tp", True)]),
        (
            [DRAINS, {**DRAINS, "name": "ap"}],
            [("mo-tp", False), ("mo-ap", False), ("mo-tp", True), ("mo-ap", True)],
        ),
    ],
)
def test_compute_nodes_drain_side_by_side_before_a_playbook_takes_them_away(groups, looks):
    """A session must not move to a node that drains next, nor times add up."""
    found = plain(drains_of_cluster(by_playbook(cnGroups=groups)))

    assert [(one["resource"]["metadata"]["name"], one["wait"]) for one in found] == looks
    assert all(one["siblings"][0]["kind"] == "LogSet" for one in found)


def test_what_drains_by_itself_or_stays_is_not_drained_by_a_playbook():
    """A resource has children that drain; what is orphaned or cannot be rendered has none."""
    orphaned = by_playbook(cnGroups=[DRAINS])
    orphaned["metadata"]["finalizers"] = ["orphan"]

    for subject in (cluster(cnGroups=[DRAINS]), orphaned, by_playbook(cnGroups=[DRAINS], tn=None)):
        assert drains_of_cluster(subject) == []


def test_a_playbook_takes_proxies_away_first_when_compute_nodes_have_drained():
    """To the compute nodes they are clients that never leave."""
    steps = removal_of(by_playbook(cnGroups=[DRAINS]))

    components = [
        step["prune"]["labels"]["matrixorigin.io/component"] for step in steps if step["prune"]
    ]
    assert components == ["ProxySet", "CNSet", "WebUI", "DNSet", "LogSet", "LogSet"]
    assert [step["patience"] for step in steps] == [0, 375, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("storage", "policy", "goes"),
    [
        ({"fileSystem": {"path": "/a"}}, None, True),
        ({"fileSystem": {"path": "/a"}}, "Retain", False),
        ({"s3": {"path": "a", "s3RetentionPolicy": "Retain"}}, None, False),
        ({"s3": {"path": "a", "s3RetentionPolicy": "Retain"}}, "Delete", True),
    ],
)
def test_claims_follow_the_retention_policy(storage, policy, goes):
    """Volumes of log stores, and the credential that opens their data, go only when told so."""
    service = {"replicas": 3, "sharedStorage": storage}
    if policy:
        service["pvcRetentionPolicy"] = policy
    log_set = resource("LogSet")
    log_set["spec"] = service

    (of_set,) = removal_of(log_set)
    steps = removal_of(by_playbook(logService=service))

    claims = "PersistentVolumeClaim"
    assert (claims in kinds_of(of_set["gone"])) == goes
    assert (claims in kinds_of(of_set["prune"])) == goes
    last_set = next(step for step in reversed(steps) if step["prune"])
    assert (claims in kinds_of(last_set["prune"])) == goes
    assert any(step["title"] == "the root credential" for step in steps) == goes
    for step in (of_set, last_set):
        assert (step["release"] is None) == goes
    assert goes or kinds_of(of_set["release"]) == ["StatefulSet", claims]


def test_a_pause_does_not_keep_compute_nodes_from_draining_when_their_set_goes():
    cn_set = resource("CNSet", "mo-tp")
    cn_set["metadata"]["annotations"] = {"matrixorigin.io/paused": "true", "mine": "stays"}

    gone = scaled_to_zero(cn_set)

    assert gone["spec"]["replicas"] == 0
    assert gone["metadata"]["annotations"] == {"mine": "stays"}
    assert cn_set["metadata"]["annotations"]["matrixorigin.io/paused"] == "true"


@pytest.mark.parametrize(("policy", "drains"), [("Drain", True), ("Delete", False)])
def test_a_set_that_is_to_drain_at_its_end_does(policy: str, drains: bool):
    """`storeDrainEnabled` is about scaling in; at the end `terminationPolicy` counts, too."""
    cn_set = resource("CNSet", "mo-tp")
    cn_set["spec"] |= {"terminationPolicy": policy, "scalingConfig": {"storeDrainTimeout": "1m"}}

    scaling = scaled_to_zero(cn_set)["spec"]["scalingConfig"]

    assert scaling.get("storeDrainEnabled", False) == drains
    assert scaling["storeDrainTimeout"] == "1m"


def test_leftovers_exclude_what_is_wanted():
    """Groups that are wanted stay; a proxy that is not goes altogether."""
    children = plan_of(by_playbook(), {})["objects"]
    wanted = [one for one in children if one["kind"] != "ProxySet"]

    steps = {
        step["title"].split()[0]: step for step in plain(removal_of_leftovers(cluster(), wanted))
    }

    assert steps["CNSets"]["prune"]["excluding"] == {"matrixorigin.io/instance": ["mo-tp"]}
    assert steps["ProxySets"]["prune"]["excluding"] == {}
    assert steps["ProxySets"]["prune"]["labels"]["matrixorigin.io/cluster"] == "mo"
