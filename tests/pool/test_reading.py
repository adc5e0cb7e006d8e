# SPDX-License-Identifier: Apache-2.0
"""Facts from Kubernetes objects, of this operator and of the one before."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Policy
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.facts import (
    IdleWindow,
    Phase,
    Placement,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.reading import (
    claim_facts,
    claim_set_facts,
    pod_facts,
    pool_facts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool.selectors import matches


def test_a_pod_of_which_nothing_is_known_is_unknown_and_unclaimed():
    pod = pod_facts({"metadata": {"name": "p"}})
    assert (pod.phase, pod.claim, pod.ready, pod.live) == (Phase.UNKNOWN, "", False, True)
    assert (pod.reclaimed_at, pod.claimed_at) == (None, None)


def test_a_pod_that_the_predecessor_bound_is_bound():
    pod = pod_facts(
        {
            "metadata": {
                "name": "shared-x-abc",
                "labels": {
                    "pool.matrixorigin.io/phase": "Bound",
                    "pool.matrixorigin.io/claimed-by": "tenant-a",
                    "pool.matrixorigin.io/pool-name": "shared",
                    "matrixorigin.io/instance": "shared-x",
                    "matrixorigin.io/owner": "a",
                    "matrixorigin.io/outdated": "y",
                },
                "annotations": {
                    "matrixorigin.io/reclaimed-at": "2026-01-01T00:00:00Z",
                    "controller.kubernetes.io/pod-deletion-cost": "7",
                },
            },
            "status": {"phase": "Running"},
        }
    )
    assert (pod.phase, pod.claim, pod.claim_uid) == (Phase.BOUND, "tenant-a", "")
    assert (pod.pool, pod.generation, pod.owner, pod.cost) == ("shared", "shared-x", "a", 7)
    assert pod.reclaimed_at == 1767225600.0


@pytest.mark.parametrize("phase", ["Failed", "Succeeded", "Unknown"])
def test_a_pod_that_ended_serves_no_more(phase):
    assert not pod_facts({"metadata": {"name": "p"}, "status": {"phase": phase}}).live


@pytest.mark.parametrize("text", ["", "yesterday", None, 5])
def test_a_time_that_cannot_be_read_is_not_known(text):
    metadata = {"name": "p", "annotations": {"matrixorigin.io/reclaimed-at": text}}
    assert pod_facts({"metadata": metadata}).reclaimed_at is None


def test_a_claim_is_read_with_the_accidental_key_of_the_predecessor():
    claim = claim_facts(
        {
            "metadata": {"name": "c", "uid": "u"},
            "spec": {
                "selector": {},
                "cnLabels": [{"key": "account", "values": ["a"]}, {"values": ["lost"]}],
                "podName": "p2",
                "sourcePod": {"podName": "p1"},
            },
            "status": {"phase": "Bound", "store": {"string": "p1"}},
        }
    )
    assert (claim.pod, claim.source, claim.recorded_pod) == ("p2", "p1", "p1")
    assert claim.cn_labels == {"account": ("a",)}
    assert claim.ready


def test_a_claim_with_fields_of_wrong_types_is_read_without_them():
    spec = {"selector": "all", "cnLabels": 3, "sourcePod": "x", "priority": "high"}
    claim = claim_facts({"metadata": {"name": "c"}, "spec": spec})
    assert (claim.selector, dict(claim.cn_labels), claim.source, claim.priority) == (
        None,
        {},
        "",
        0,
    )


def test_a_pool_is_read_with_its_defaults_and_its_options():
    assert pool_facts({"metadata": {"name": "p"}}).drain == Policy(True, 15, 300)
    pool = pool_facts(
        {
            "metadata": {"name": "p"},
            "spec": {
                "podLabels": {"pool": "shared"},
                "placement": "Spread",
                "quotas": {"default": 3, "owners": {"a": 5}},
                "template": {"scalingConfig": {"storeDrainTimeout": "2m", "minDelaySeconds": 0}},
                "strategy": {
                    "updateStrategy": {"reclaimTimeout": "24h", "lastOwnerTimeout": "1h"},
                    "scaleStrategy": {
                        "maxIdle": 2,
                        "maxIdlePercent": 10,
                        "maxPods": 9,
                        "schedule": [
                            {"days": ["Mon"], "from": "08:00", "to": "18:30", "maxIdle": 5},
                            {"from": "noon", "to": "13:00", "maxIdle": 5},
                        ],
                    },
                },
            },
        },
        "p-x",
    )
    assert (pool.max_idle, pool.max_idle_percent, pool.max_pods) == (2, 10, 9)
    assert pool.windows == (IdleWindow(frozenset({0}), 480, 1110, 5),)
    assert (pool.reclaim_timeout, pool.warm_seconds, pool.placement) == (
        86400,
        3600,
        Placement.SPREAD,
    )
    assert (pool.quota, dict(pool.quotas), pool.drain) == (3, {"a": 5}, Policy(True, 0, 120))


def test_a_claim_set_is_read():
    found = claim_set_facts({"metadata": {"name": "s", "uid": "u"}, "spec": {"replicas": 2}})
    assert (found.name, found.replicas, dict(found.template)) == ("s", 2, {})


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]}, True),
        ({"matchExpressions": [{"key": "b", "operator": "In", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["0"]}]}, False),
    ],
)
def test_selectors_select_as_in_kubernetes(selector, selected):
    assert matches(selector, {"a": "1"}) is selected
