# SPDX-License-Identifier: Apache-2.0
"""The log service: workload, Services, bootstrap, gossip."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.types import (
    BootstrapMember,
    LogSetObserved,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.rendering import (
    bootstrap_decision,
    render_logset,
)

from tests.support import resources as r


def render(subject: r.Json, **observed: Any) -> list[r.Json]:
    return render_logset(subject, start_script=r.SCRIPT, observed=LogSetObserved(**observed))


def test_objects_and_their_order() -> None:
    found = [(o["kind"], o["metadata"]["name"]) for o in render(r.logset())]
    config = next(name for _, name in found if name.startswith("mo-log-config-"))
    assert found == [
        ("ConfigMap", "mo-log-bootstrap"),
        ("ConfigMap", "mo-log-gossip"),
        ("ConfigMap", config),
        ("Service", "mo-log-headless"),
        ("Service", "mo-log-discovery"),
        ("Service", "mo-log-metric"),
        ("StatefulSet", "mo-log"),
        ("PodDisruptionBudget", "mo-log"),
        ("NetworkPolicy", "mo-log"),
    ]


def test_stateful_set() -> None:
    spec = r.find(
        render(r.logset(volume={"size": "10Gi", "storageClassName": "fast"})), "StatefulSet"
    )["spec"]
    assert spec["serviceName"] == "mo-log-headless"
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["volumeClaimTemplates"] == [
        {
            "metadata": {"name": "mo-data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
                "storageClassName": "fast",
            },
        }
    ]


def test_pod() -> None:
    objects = render(r.logset())
    main = r.main(objects)
    assert main["command"] == ["/bin/sh", "/etc/logservice/start.sh"]
    assert [entry["name"] for entry in main["env"]] == [
        "POD_NAME", "NAMESPACE", "POD_IP", "HEADLESS_SERVICE_NAME", "ADDRESS_STYLE", "GODEBUG",
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION",
    ]  # fmt: skip
    assert main["env"][0]["valueFrom"]["fieldRef"] == {
        "apiVersion": "v1",
        "fieldPath": "metadata.name",
    }
    assert r.mounts(objects) == {
        "/var/lib/matrixone": "mo-data",
        "/etc/bootstrap": "bootstrap",
        "/etc/gossip": "gossip",
        "/etc/logservice": "config",
        "/tmp": "tmp",
    }
    assert list(r.volumes(objects)) == ["bootstrap", "gossip", "tmp", "config"]
    assert r.volumes(objects)["gossip"]["configMap"]["name"] == "mo-log-gossip"
    assert "readinessGates" not in r.pod(objects)


def test_services() -> None:
    objects = render(r.logset())
    headless = r.find(objects, "Service", "mo-log-headless")["spec"]
    assert headless["clusterIP"] == "None"
    assert headless["publishNotReadyAddresses"] is True
    assert "ports" not in headless
    discovery = r.find(objects, "Service", "mo-log-discovery")["spec"]
    assert [(port["port"], port.get("name")) for port in discovery["ports"]] == [(32001, None)]
    assert "publishNotReadyAddresses" not in discovery
    metric = r.find(objects, "Service", "mo-log-metric")["spec"]
    assert [(port["port"], port["name"]) for port in metric["ports"]] == [(7001, "metric")]


@pytest.mark.parametrize(
    ("version", "style"),
    [("1.3.0", None), ("nightly", None), ("2.0.0", "service-host"), ("v3.0.16-x", "service-host")],
)
def test_addresses_follow_the_version(version: str, style: str | None) -> None:
    objects = render(r.logset(image=f"matrixorigin/matrixone:{version}"))
    assert r.env(objects).get("ADDRESS_STYLE") == style


@pytest.mark.parametrize(
    ("replicas", "chosen", "members"),
    [(3, None, 3), (5, None, 3), (2, None, 1), (1, None, 1), (5, 5, 5)],
)
def test_bootstrap_decision(replicas: int, chosen: int | None, members: int) -> None:
    subject = r.logset(replicas=replicas, initialConfig={"logShardReplicas": chosen})
    assert bootstrap_decision(subject) == [
        {"ordinal": i, "replicaId": 131072 + i} for i in range(members)
    ]


def test_bootstrap_decision_of_a_stopped_log_set() -> None:
    subject = r.logset(replicas=0, initialConfig={"logShardReplicas": 3})
    assert len(bootstrap_decision(subject)) == 3


@pytest.mark.parametrize("replicas", [4, 131074])
def test_impossible_bootstrap_is_refused(replicas: int) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.initialConfig\.logShardReplicas: "):
        render(r.logset(initialConfig={"logShardReplicas": replicas}))


def test_stored_decision_is_kept_through_scaling() -> None:
    decision = bootstrap_decision(r.logset())
    before = render(r.logset())
    after = render(r.logset(replicas=5), bootstrap=decision)
    for objects in (before, after):
        bootstrap = r.find(objects, "ConfigMap", "mo-log-bootstrap")
        assert bootstrap["immutable"] is True
        assert bootstrap == r.find(before, "ConfigMap", "mo-log-bootstrap")


def test_stored_decision_is_used_verbatim() -> None:
    decision: list[BootstrapMember] = [{"ordinal": 4, "replicaId": 140000}]
    objects = render(r.logset(), bootstrap=decision)
    text = r.find(objects, "ConfigMap", "mo-log-bootstrap")["data"]["bootstrap.toml"]
    assert '["140000:00000000-0000-0000-0000-000000000004"]' in text
    assert "num-of-log-shard-replicas = 1\n" in text


def test_scaling_changes_gossip_and_never_the_template() -> None:
    three, five = render(r.logset()), render(r.logset(replicas=5))
    assert r.workload(three)["spec"]["template"] == r.workload(five)["spec"]["template"]
    assert r.config_map(three) == r.config_map(five)
    gossip = r.find(five, "ConfigMap", "mo-log-gossip")
    assert "immutable" not in gossip
    assert gossip["data"]["gossip.toml"].count(":32002") == 5


def test_failover_changes_gossip_and_never_the_template() -> None:
    before = render(r.logset())
    after = render(r.logset(), incarnations={"10": 2, "2": 1, "0": 0})
    changed = [a["metadata"]["name"] for a, b in zip(after, before, strict=True) if a != b]
    assert changed == ["mo-log-gossip"]
    assert r.find(after, "ConfigMap", "mo-log-gossip")["data"]["incarnations"] == "2 1\n10 2\n"


@pytest.mark.parametrize("incarnations", [{"2": 65536}, {"2": -1}, {"x": 1}, {"2": "1"}, {"": 1}])
def test_incarnation_must_fit_into_the_identity(incarnations: Any) -> None:
    with pytest.raises(
        errors.InvalidSpec, match=r"^metadata\.annotations\[logset.*has incarnation"
    ):
        render(r.logset(), incarnations=incarnations)


def test_a_single_store_is_its_own_seed() -> None:
    assert r.config(render(r.logset(replicas=1)))["logservice"]["gossip-allow-self-as-seed"] is True
    assert "gossip-allow-self-as-seed" not in r.config(render(r.logset()))["logservice"]


def test_initial_shards() -> None:
    objects = render(r.logset(initialConfig={"logShards": 2, "dnShards": 3}))
    text = r.find(objects, "ConfigMap", "mo-log-bootstrap")["data"]["bootstrap.toml"]
    for line in ("num-of-log-shards = 2", "num-of-dn-shards = 3", "num-of-tn-shards = 3"):
        assert f"\n{line}\n" in text


def test_cluster_domain_is_in_every_address() -> None:
    objects = render(r.logset(clusterDomain="cluster.example"))
    assert r.config(objects)["hakeeper-client"]["discovery-address"] == (
        "mo-log-discovery.prod.svc.cluster.example:32001"
    )
    assert r.env(objects)["CLUSTER_DOMAIN"] == "cluster.example"
    gossip = r.find(objects, "ConfigMap", "mo-log-gossip")["data"]["gossip.toml"]
    assert gossip.count(".prod.svc.cluster.example:32002") == 3


@pytest.mark.parametrize(
    ("replicas", "copies", "away"),
    [(1, 1, 1), (2, 1, 1), (3, 3, 1), (5, 3, 1), (5, 5, 2), (7, 7, 3), (3, 1, 1), (0, 3, 1)],
)
def test_budget_keeps_the_majority_of_a_shard(replicas: int, copies: int, away: int) -> None:
    subject = r.logset(replicas=replicas, initialConfig={"logShardReplicas": copies})
    spec = r.find(render(subject), "PodDisruptionBudget")["spec"]
    assert spec["maxUnavailable"] == away
    assert "unhealthyPodEvictionPolicy" not in spec


def test_network_policy_admits_gossip_by_udp_too() -> None:
    internal, public = r.find(render(r.logset()), "NetworkPolicy")["spec"]["ingress"]
    assert {"protocol": "TCP", "port": 32000, "endPort": 32002} in internal["ports"]
    assert {"protocol": "UDP", "port": 32002} in internal["ports"]
    assert "from" not in public
    assert public["ports"] == [{"protocol": "TCP", "port": 7001}]
