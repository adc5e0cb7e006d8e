# SPDX-License-Identifier: Apache-2.0
"""Transaction nodes, compute nodes and proxies."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.rendering import (
    render_cnset,
)

from tests.support import resources as r


def kinds(objects: list[r.Json]) -> list[tuple[str, str]]:
    return [(o["kind"], o["metadata"]["name"]) for o in objects if o["kind"] != "ConfigMap"]


def test_objects_of_a_transaction_node() -> None:
    assert kinds(r.render(r.dnset())) == [
        ("Service", "mo-dn-headless"),
        ("Service", "mo-dn-metric"),
        ("StatefulSet", "mo-dn"),
        ("PodDisruptionBudget", "mo-dn"),
        ("NetworkPolicy", "mo-dn"),
    ]


def test_claim_of_a_transaction_node_goes_with_it() -> None:
    spec = r.workload(r.render(r.dnset(cacheVolume={"size": "1Gi"})))["spec"]
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    assert spec["persistentVolumeClaimRetentionPolicy"] == policy
    assert [t["metadata"]["name"] for t in spec["volumeClaimTemplates"]] == ["mo-data"]
    assert "volumeClaimTemplates" not in r.workload(r.render(r.dnset()))["spec"]


def test_environment_of_a_transaction_node() -> None:
    names = [entry["name"] for entry in r.main(r.render(r.dnset()))["env"]]
    assert names[:3] == ["POD_NAME", "NAMESPACE", "HEADLESS_SERVICE_NAME"]
    assert "HOSTNAME_UUID" not in names
    assert r.env(r.render(r.dnset(dnsBasedIdentity=True)))["HOSTNAME_UUID"] == "y"


def test_transaction_node_has_one_table() -> None:
    found = r.config(r.render(r.dnset(config="[tn]\nport-base = 1\nkeep = 2\n")))
    assert "dn" not in found
    assert (found["tn"]["port-base"], found["tn"]["keep"]) == (41010, 2)
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.config: only one of \[tn\] and \[dn\]"):
        r.render(r.dnset(config="[tn]\n[dn]\n"))


@pytest.mark.parametrize("make", [r.dnset, r.cnset])
@pytest.mark.parametrize(
    ("version", "discovers"),
    [("1.2.3", False), ("1.9.9", False), ("nightly", False), ("2.0.0", True), ("3.0.16", True)],
)
def test_how_the_log_service_is_found(make: Any, version: str, discovers: bool) -> None:
    client = r.config(r.render(make(image=f"a/b:{version}")))["hakeeper-client"]
    if discovers:
        assert client == {"discovery-address": "mo-log-discovery.prod.svc:32001"}
    else:
        addresses = [f"mo-log-{i}.mo-log-headless.prod.svc:32001" for i in range(3)]
        assert client == {"service-addresses": addresses}


def test_log_service_may_be_in_another_namespace_and_domain() -> None:
    log_set = r.logset(clusterDomain="cluster.example")
    log_set["metadata"]["namespace"] = "logs"
    deps = {"logSet": {"metadata": {"name": "mo", "namespace": "logs"}}}
    client = r.config(r.render(r.cnset(deps), log_set=log_set))["hakeeper-client"]
    assert client["discovery-address"] == "mo-log-discovery.logs.svc.cluster.example:32001"


def test_missing_log_set_is_named() -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^deps\.logSet: there is no LogSet prod/mo"):
        render_cnset(r.cnset(), start_script="", references={"logSet": None})


def test_objects_of_compute_nodes() -> None:
    assert kinds(r.render(r.cnset())) == [
        ("Service", "mo-tp-cn-headless"),
        ("Service", "mo-tp-cn"),
        ("Deployment", "mo-tp-cn"),
        ("PodDisruptionBudget", "mo-tp-cn"),
        ("NetworkPolicy", "mo-tp-cn"),
    ]


def test_deployment_of_compute_nodes() -> None:
    objects = r.render(r.cnset())
    spec = r.workload(objects)["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert r.pod(objects)["subdomain"] == "mo-tp-cn-headless"
    names = [entry["name"] for entry in r.main(objects)["env"]][:4]
    assert names == ["POD_NAME", "NAMESPACE", "HEADLESS_SERVICE_NAME", "POD_IP"]
    assert not {"readinessGates", "terminationGracePeriodSeconds"} & r.pod(objects).keys()


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"maxSurge": "50%"}, {"maxSurge": "50%", "maxUnavailable": 0}),
        ({"maxSurge": 0, "maxUnavailable": 1}, {"maxSurge": 0, "maxUnavailable": 1}),
    ],
)
def test_rolling_update_follows_the_spec(strategy: Any, expected: Any) -> None:
    spec = r.workload(r.render(r.cnset(updateStrategy=strategy)))["spec"]
    assert spec["strategy"]["rollingUpdate"] == expected


@pytest.mark.parametrize("zero", [0, "0%", "0"])
def test_a_roll_that_cannot_move_is_refused(zero: Any) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.updateStrategy: .* must not both be 0"):
        r.render(r.cnset(updateStrategy={"maxSurge": zero}))


def test_cache_of_a_compute_node_lives_with_its_pod() -> None:
    objects = r.render(r.cnset(cacheVolume={"size": "1Gi", "storageClassName": "ssd"}))
    template = r.volumes(objects)["mo-data"]["ephemeral"]["volumeClaimTemplate"]
    assert template["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "ssd",
    }
    assert template["metadata"]["labels"]["matrixorigin.io/instance"] == "mo-tp"
    assert r.volumes(r.render(r.cnset()))["mo-data"] == {"name": "mo-data", "emptyDir": {}}


@pytest.mark.parametrize(
    ("scaling", "grace"),
    [
        ({"storeDrainEnabled": True}, 330),
        ({"storeDrainEnabled": True, "storeDrainTimeout": "10m"}, 630),
        ({"storeDrainEnabled": True, "storeDrainTimeout": "10s", "minDelaySeconds": 60}, 90),
        ({"storeDrainTimeout": "10m"}, None),
    ],
)
def test_a_draining_node_has_time_to_stop(scaling: Any, grace: int | None) -> None:
    objects = r.render(r.cnset(scalingConfig=scaling))
    assert r.pod(objects).get("terminationGracePeriodSeconds") == grace
    state = r.config(objects)["cn"].get("init-work-state")
    assert state == ("Draining" if grace else None)


def test_only_pooled_nodes_wait_for_the_operator() -> None:
    objects = r.render(r.cnset(podManagementPolicy="Pooling"))
    assert r.pod(objects)["readinessGates"] == [{"conditionType": "matrixorigin.io/cn-store"}]
    annotations = r.workload(objects)["spec"]["template"]["metadata"]["annotations"]
    assert annotations["pool.matrixorigin.io/management-policy"] == "Pooling"
    assert annotations["pool.matrixorigin.io/in-place-rolling"] == "y"
    older = r.render(r.cnset(podManagementPolicy="Pooling", operatorVersion="1.2.0"))
    annotations = r.workload(older)["spec"]["template"]["metadata"]["annotations"]
    assert "pool.matrixorigin.io/in-place-rolling" not in annotations


def test_labels_of_a_compute_node_are_announced() -> None:
    def announced(**spec: Any) -> str:
        template = r.workload(r.render(r.cnset(**spec)))["spec"]["template"]
        text: str = template["metadata"]["annotations"]["matrixone.cloud/cn-label"]
        return text

    assert announced() == "null"
    labels = [{"values": ["a", "b"], "key": "account"}]
    assert announced(cnLabels=labels) == '[{"key":"account","values":["a","b"]}]'
    assert json.loads(announced(cnLabels=[])) == []
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.cnLabels\[0\]\.key: must be set"):
        announced(cnLabels=[{"values": ["a"]}])


def test_python_sidecar() -> None:
    resources = {"limits": {"memory": "1Gi"}}
    overlay = {"env": [{"name": "A", "value": "1"}], "imagePullPolicy": "Always"}
    sidecar = {"enabled": True, "port": 50052, "resources": resources, "overlay": overlay}
    objects = r.render(r.cnset(pythonUdfSidecar=sidecar))
    udf = r.pod(objects)["containers"][-1]
    assert udf["name"] == "python-udf"
    assert udf["image"] == "composer000/mo-python-udf-server:latest"
    command = "python -u server.py --address=localhost:50052"
    assert udf["command"] == ["/bin/bash", "-c", command]
    assert (udf["resources"], udf["env"]) == (resources, overlay["env"])
    assert udf["imagePullPolicy"] == "Always"
    assert r.config(objects)["cn"]["python-udf-client"] == {"server-address": "localhost:50052"}
    without = r.render(r.cnset(pythonUdfSidecar={"enabled": False}))
    assert len(r.pod(without)["containers"]) == 1
    assert "python-udf-client" not in r.config(without)["cn"]


def test_service_of_compute_nodes_follows_the_spec() -> None:
    objects = r.render(
        r.cnset(serviceType="NodePort", nodePort=30011, serviceAnnotations={"a": "b"})
    )
    service = r.find(objects, "Service", "mo-tp-cn")
    assert service["spec"]["type"] == "NodePort"
    assert service["spec"]["ports"] == [
        {"name": "service", "port": 6001, "targetPort": 6001, "protocol": "TCP", "nodePort": 30011}
    ]
    assert service["metadata"]["annotations"] == {"a": "b"}
    plain = r.find(r.render(r.cnset()), "Service", "mo-tp-cn")
    assert plain["spec"]["type"] == "ClusterIP"
    assert "annotations" not in plain["metadata"]


BALANCED = {
    "externalTrafficPolicy": "Local",
    "loadBalancerClass": "lb.example/fast",
    "loadBalancerSourceRanges": ["192.0.2.0/24", "2001:db8::/32"],
}


@pytest.mark.parametrize("make", [r.cnset, r.proxyset, r.webui])
def test_load_balancer_is_asked_for_as_the_spec_says(make: Any) -> None:
    def service(**spec: Any) -> Any:
        subject = make(**spec)
        objects = r.render(subject)
        return next(o for o in objects if o["kind"] == "Service" and "type" in o["spec"])

    found = service(serviceType="LoadBalancer", nodePort=30011, **BALANCED)["spec"]
    assert {name: found[name] for name in BALANCED} == BALANCED
    assert found["ports"][0]["nodePort"] == 30011
    local = service(serviceType="NodePort", externalTrafficPolicy="Local")["spec"]
    assert local["externalTrafficPolicy"] == "Local"
    for empty in ({}, {"loadBalancerSourceRanges": []}):
        assert set(service(**empty)["spec"]) == {"type", "ports", "selector"}


@pytest.mark.parametrize("make", [r.cnset, r.proxyset, r.webui])
@pytest.mark.parametrize(
    ("service_type", "name", "types"),
    [
        ("ClusterIP", "externalTrafficPolicy", "NodePort or LoadBalancer"),
        ("ClusterIP", "loadBalancerClass", "LoadBalancer"),
        ("NodePort", "loadBalancerClass", "LoadBalancer"),
        ("NodePort", "loadBalancerSourceRanges", "LoadBalancer"),
    ],
)
def test_field_of_another_type_of_service(
    make: Any, service_type: str, name: str, types: str
) -> None:
    with pytest.raises(errors.InvalidSpec, match=rf"^spec\.{name}: needs serviceType {types}$"):
        r.render(make(serviceType=service_type, **{name: BALANCED[name]}))


@pytest.mark.parametrize("make", [r.cnset, r.proxyset, r.webui])
def test_unusable_service_names_its_field(make: Any) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.externalTrafficPolicy: must be one of"):
        r.render(make(serviceType="NodePort", externalTrafficPolicy="Any"))
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.serviceType: must be one of"):
        r.render(make(serviceType="ExternalName"))
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.nodePort: needs serviceType"):
        r.render(make(nodePort=30000))


def test_role_of_a_compute_node() -> None:
    assert r.config(r.render(r.cnset()))["cn"]["role"] == "TP"
    assert r.config(r.render(r.cnset(role="AP")))["cn"]["role"] == "AP"
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.role: must be one of TP, AP"):
        r.render(r.cnset(role="XP"))


@pytest.mark.parametrize(("make", "first"), [(r.dnset, 41010), (r.cnset, 6002)])
def test_network_policy_admits_the_ports_that_a_store_may_move_to(make: Any, first: int) -> None:
    internal = r.find(r.render(make()), "NetworkPolicy")["spec"]["ingress"][0]
    assert {"protocol": "TCP", "port": first, "endPort": first + 20} in internal["ports"]
    assert {"podSelector": {}} in internal["from"]


def test_objects_of_a_proxy() -> None:
    assert kinds(r.render(r.proxyset())) == [
        ("Service", "mo-proxy"),
        ("Deployment", "mo-proxy"),
        ("PodDisruptionBudget", "mo-proxy"),
        ("NetworkPolicy", "mo-proxy"),
    ]


def test_proxy_discovers_in_every_version() -> None:
    for version in ("1.2.3", "2.0.0", "nightly"):
        client = r.config(r.render(r.proxyset(image=f"a/b:{version}")))["hakeeper-client"]
        assert client == {"discovery-address": "mo-log-discovery.prod.svc:32001"}


def test_proxy_waits_for_its_plugin() -> None:
    assert "WAIT_PLUGIN_ADDR" not in r.env(r.render(r.proxyset()))
    objects = r.render(r.proxyset(waitPluginAddr="127.0.0.1:5000", minReadySeconds=7))
    assert r.env(objects)["WAIT_PLUGIN_ADDR"] == "127.0.0.1:5000"
    assert r.workload(objects)["spec"]["minReadySeconds"] == 7
    for address in ("host", "host:port", "$(x):1", "a b:1"):
        with pytest.raises(errors.InvalidSpec, match=r"^spec\.waitPluginAddr: must be"):
            r.render(r.proxyset(waitPluginAddr=address))


@pytest.mark.parametrize(
    ("make", "usual"), [(r.logset, 5), (r.dnset, 0), (r.cnset, 5), (r.proxyset, 0)]
)
def test_seconds_for_which_a_pod_must_be_ready(make: Any, usual: int) -> None:
    """A change of them is none of the Pod template: it restarts nothing."""
    before = r.workload(r.render(make()))["spec"]
    for given, wanted in ((None, usual), (0, 0), (7, 7), (599, 599)):
        spec = r.workload(r.render(make(minReadySeconds=given)))["spec"]
        assert spec == {**before, "minReadySeconds": wanted}
    for given, message in ((-1, "must be at least 0, not -1"), ("7", "must be an integer")):
        with pytest.raises(errors.InvalidSpec, match=rf"^spec\.minReadySeconds: {message}"):
            r.render(make(minReadySeconds=given))


@pytest.mark.parametrize("make", [r.cnset, r.proxyset])
def test_a_deployment_may_take_longer_than_its_pods_must_be_ready(make: Any) -> None:
    """Kubernetes refuses it otherwise, and has 600 seconds when nothing is said."""
    spec = r.workload(r.render(make(minReadySeconds=600)))["spec"]
    assert spec["progressDeadlineSeconds"] == 1200


@pytest.mark.parametrize("make", [r.cnset, r.proxyset, r.webui])
def test_a_broken_pod_without_data_may_always_be_evicted(make: Any) -> None:
    spec = r.find(r.render(make()), "PodDisruptionBudget")["spec"]
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize("make", [r.logset, r.dnset, r.cnset, r.proxyset, r.webui])
def test_syntax_error_in_the_configuration_names_the_line(make: Any) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.config: is not valid TOML.*line 2"):
        r.render(make(config="a = 1\nb = \n"))


@pytest.mark.parametrize(
    ("scaling", "hook", "grace"),
    [
        ({}, None, None),
        ({"storeDrainEnabled": False, "storeDrainTimeout": "5m"}, None, None),
        ({"storeDrainEnabled": True}, ["15", "300", "15"], 330),
        ({"storeDrainEnabled": True, "storeDrainTimeout": "90s"}, ["15", "90", "15"], 120),
        ({"storeDrainEnabled": True, "storeDrainTimeout": "5s"}, ["15", "15", "15"], 45),
        ({"storeDrainEnabled": True, "minDelaySeconds": 0}, ["0", "300", "15"], 330),
    ],
)
def test_a_node_that_drains_is_stopped_when_its_clients_have_moved(
    scaling: r.Json, hook: list[str] | None, grace: int | None
) -> None:
    pod = r.find(r.render(r.cnset(scalingConfig=scaling)), "Deployment")["spec"]["template"]["spec"]
    lifecycle = pod["containers"][0].get("lifecycle")
    command = ["/bin/sh", "/etc/matrixone/config/start.sh", "drain"]
    # They have sessions on the node, those that come while it serves, too.
    peers = [f"{base}-headless.prod.svc" for base in ("mo-tp-cn", "mo-log", "mo-dn")]
    wanted = hook and {"preStop": {"exec": {"command": [*command, *hook, *peers]}}}
    assert lifecycle == wanted
    assert pod.get("terminationGracePeriodSeconds") == grace
