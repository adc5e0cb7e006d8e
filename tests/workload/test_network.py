# SPDX-License-Identifier: Apache-2.0
"""Who reaches the ports of a database, which ask for no password but for SQL: hostile Pods too."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.filter.plans import plan_for
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.own_namespace import (
    own_namespace,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.precheck.snapshot import (
    Snapshot,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import Play

from tests.support import resources as r
from tests.support.network import Pod, lets_in

Make = Callable[..., r.Json]
INTERNAL = [
    pytest.param(r.logset, (32000, 32001, 32002, 6060), id="log service"),
    pytest.param(r.dnset, (41010, 41030, 32003, 6003, 6060), id="transaction node"),
    pytest.param(r.cnset, (6002, 6003, 6022, 6060), id="compute node"),
    pytest.param(r.proxyset, (6060,), id="proxy"),
]
PUBLIC = [
    pytest.param(r.logset, (7001,), id="log service"),
    pytest.param(r.dnset, (7001,), id="transaction node"),
    pytest.param(r.cnset, (6001, 7001), id="compute node"),
    pytest.param(r.proxyset, (6001, 7001), id="proxy"),
    pytest.param(r.webui, (8001,), id="dashboard"),
]
OPERATOR = {
    "app.kubernetes.io/name": "matrixone-operator",
    "app.kubernetes.io/component": "operator",
}
COMPONENTS = [{names.LABEL_COMPONENT: kind} for kind in ("LogSet", "DNSet", "CNSet", "ProxySet")]


def reached(subject: r.Json, client: Pod, ports: tuple[int, ...]) -> list[int]:
    """Return which of a set's ports a Pod reaches."""
    log_set = r.logset(allowedNamespaces=["prod"])
    log_set["metadata"]["namespace"] = (
        subject.get("deps", {}).get("logSet", {}).get("metadata", {}).get("namespace", "prod")
    )
    objects = r.render(subject, log_set=log_set)
    policy = r.find(objects, "NetworkPolicy")
    labels = r.workload(objects)["spec"]["template"]["metadata"]["labels"]
    server = Pod("prod", labels)
    return [port for port in ports if lets_in([policy], client, server, port)]


@pytest.mark.parametrize(("make", "ports"), INTERNAL)
@pytest.mark.parametrize("labels", [*COMPONENTS, OPERATOR, {}])
@pytest.mark.parametrize("more", [{}, {"name": "prod"}])
def test_a_pod_of_another_namespace_reaches_nothing_whatever_its_labels_say(
    make: Make, ports: tuple[int, ...], labels: Any, more: Any
) -> None:
    """Whoever can create a Pod somewhere chooses its labels; a namespace's name they do not."""
    assert reached(make(), Pod("evil", labels, more), ports) == []


@pytest.mark.parametrize(("make", "ports"), INTERNAL)
def test_pods_of_the_same_namespace_reach_each_other(make: Make, ports: tuple[int, ...]) -> None:
    assert reached(make(), Pod("prod"), ports) == list(ports)


@pytest.mark.parametrize(("make", "ports"), PUBLIC)
def test_clients_reach_sql_and_metrics_from_everywhere(make: Make, ports: tuple[int, ...]) -> None:
    assert reached(make(), Pod("evil"), ports) == list(ports)


@pytest.mark.parametrize(("make", "ports"), INTERNAL[:3])
def test_a_set_admits_databases_of_the_namespaces_that_it_lists(
    make: Make, ports: tuple[int, ...]
) -> None:
    subject = make(allowedNamespaces=["analytics", "prod", "billing"])
    for labels in COMPONENTS:
        assert reached(subject, Pod("analytics", labels), ports) == list(ports)
        assert reached(subject, Pod("evil", labels), ports) == []
    for labels in ({}, OPERATOR, {names.LABEL_COMPONENT: "WebUI"}):
        assert reached(subject, Pod("analytics", labels), ports) == []


@pytest.mark.parametrize(("make", "ports"), INTERNAL[1:])
def test_a_set_admits_the_databases_that_it_depends_on(make: Make, ports: tuple[int, ...]) -> None:
    """They open connections of their own: a transaction node asks compute nodes about locks."""
    subject = make({"logSet": {"metadata": {"name": "mo", "namespace": "logs"}}})
    for labels in COMPONENTS:
        assert reached(subject, Pod("logs", labels), ports) == list(ports)
    assert reached(subject, Pod("logs"), ports) == []


def test_no_peer_is_listed_twice() -> None:
    subject = r.cnset(
        {
            "logSet": {"metadata": {"name": "mo", "namespace": "logs"}},
            "dnSet": {"metadata": {"name": "mo", "namespace": "logs"}},
        },
        allowedNamespaces=["logs", "prod", "audit"],
    )
    log_set = r.logset(allowedNamespaces=["prod"])
    log_set["metadata"]["namespace"] = "logs"
    policy = r.find(r.render(subject, log_set=log_set), "NetworkPolicy")
    own, *others = policy["spec"]["ingress"][0]["from"]
    assert own == {"podSelector": {}}
    named = [peer["namespaceSelector"]["matchLabels"] for peer in others]
    assert named == [{"kubernetes.io/metadata.name": one} for one in ("audit", "logs")]


@pytest.mark.parametrize("written", ["*", "a.b", "A", "", "a" * 64, "../prod"])
def test_what_is_no_name_of_a_namespace_is_refused_without_a_schema_too(written: str) -> None:
    (mistake,) = kinds.kind_of(r.logset()).judge.mistakes(
        r.logset(allowedNamespaces=["a", written])
    )
    assert mistake.field == "spec.allowedNamespaces[1]"


def test_a_cluster_passes_on_whom_its_parts_trust() -> None:
    """What it does not name trusts nobody else."""
    subject = r.cluster(
        logService={"allowedNamespaces": ["a"]},
        tn={"allowedNamespaces": ["b"]},
        cnGroups=[{"name": "tp", "replicas": 1, "allowedNamespaces": ["c"]}],
        ap={"replicas": 1},
        proxy={"replicas": 1},
    )
    policies = [one for one in r.render(subject) if one["kind"] == "NetworkPolicy"]
    named = {
        policy["metadata"]["name"]: [
            peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
            for rule in policy["spec"]["ingress"]
            for peer in rule.get("from", [])
            if "namespaceSelector" in peer
        ]
        for policy in policies
    }
    assert named == {
        "mo-log": ["a"],
        "mo-dn": ["b"],
        "mo-tp-cn": ["c"],
        "mo-ap-cn": [],
        "mo-proxy": [],
    }


def planned(subject: r.Json, operator: str, *, stored: bool = True) -> r.Json:
    """Return the NetworkPolicy that a pass over a LogSet applies.

    Args:
        subject: the LogSet.
        operator: namespace of the operator's Pods; empty if it is not known.
        stored: whether the LogSet is in the cluster, or a playbook's.
    """
    if stored:
        subject["metadata"]["uid"] = "u-1"
    plan = kinds.kind_of(subject).plan(subject, {}, Play(r.SCRIPT, operator=operator))
    return r.find(list(plan.objects), "NetworkPolicy")


@pytest.mark.parametrize(
    ("operator", "client", "reaches"),
    [
        ("ops", Pod("ops", OPERATOR), True),
        ("ops", Pod("ops"), False),
        ("ops", Pod("evil", OPERATOR), False),
        ("ops", Pod("evil", OPERATOR, {"name": "ops"}), False),
        ("", Pod("ops", OPERATOR), False),
        ("prod", Pod("evil", OPERATOR), False),
    ],
)
def test_the_operator_is_admitted_from_its_own_namespace_alone(
    operator: str, client: Pod, reaches: bool
) -> None:
    policy = planned(r.logset(), operator)
    server = Pod("prod", policy["spec"]["podSelector"]["matchLabels"])
    for port in (32000, 32001, 6060):
        assert lets_in([policy], client, server, port) is reaches
    assert lets_in([policy], client, server, 7001)


def test_a_playbook_admits_no_operator() -> None:
    """Wherever it runs, even in a Pod: else runs in different places would undo one another."""
    assert planned(r.logset(), "ci", stored=False) == planned(r.logset(), "", stored=False)


def test_a_play_and_the_check_before_it_render_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise every pass would find the policy of the one before out of date."""
    monkeypatch.setenv("POD_NAMESPACE", "ops")
    subject = r.logset()
    subject["metadata"]["uid"] = "u-1"
    session: Any = None
    snapshot = Snapshot(session, subject, r.SCRIPT)
    snapshot.__dict__["observed"] = {}
    played = plan_for(subject, {}, r.SCRIPT)["objects"]
    assert "ops" in json.dumps(r.find(played, "NetworkPolicy"))
    assert plain(list(snapshot.plan.objects)) == played


@pytest.mark.parametrize(
    ("environment", "account", "namespace"),
    [
        ({"POD_NAMESPACE": "ops"}, "other", "ops"),
        ({"POD_NAMESPACE": " "}, "ops\n", "ops"),
        ({}, "ops", "ops"),
        ({}, None, ""),
    ],
)
def test_where_the_operator_is_known_from(
    environment: dict[str, str], account: str | None, namespace: str, tmp_path: Path
) -> None:
    """Without the variable, as in a Deployment of an older release, its ServiceAccount tells."""
    file = tmp_path / "namespace"
    if account is not None:
        file.write_text(account)
    assert own_namespace(environment, file) == namespace
