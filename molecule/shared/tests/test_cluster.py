# SPDX-License-Identifier: Apache-2.0
"""What must be true of a cluster after each change, seen with kubectl as a user sees it."""

import base64

import pytest

WORKLOADS = [
    ("statefulset", "mo-log"),
    ("statefulset", "mo-dn"),
    ("deployment", "mo-tp-cn"),
    ("deployment", "mo-proxy"),
]


@pytest.mark.parametrize(("kind", "name"), WORKLOADS)
def test_workload_serves(get, kind, name):
    """All wanted Pods are ready and run the latest template."""
    found = get(kind, name)

    wanted = found["spec"]["replicas"]
    assert found["status"]["readyReplicas"] == wanted
    assert found["status"]["updatedReplicas"] == wanted
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]


def test_pods_are_restricted(get):
    """No Pod runs as root or keeps a capability."""
    pods = get("pods")["items"]

    assert pods
    for pod in pods:
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", ["mo-log", "mo-dn", "mo-tp-cn", "mo-proxy"])
def test_components_are_protected(get, name):
    """Each component has a disruption budget and a network policy."""
    assert get("poddisruptionbudget", name)["spec"]["selector"]["matchLabels"]
    assert get("networkpolicy", name)["spec"]["podSelector"]["matchLabels"]


def test_sql_has_an_address(get):
    """The proxy's Service answers on MySQL's port of MatrixOne and finds the proxies."""
    service = get("service", "mo-proxy")
    proxies = get("pods", "-l", "matrixorigin.io/component=ProxySet")["items"]

    assert service["spec"]["ports"][0]["port"] == 6001
    assert proxies
    for proxy in proxies:
        assert service["spec"]["selector"].items() <= proxy["metadata"]["labels"].items()


def test_credential_is_random(get):
    """The root credential was made, with a long password."""
    data = get("secret", "mo-credential")["data"]

    assert base64.b64decode(data["username"]) == b"dump"
    assert len(base64.b64decode(data["password"])) >= 20


def test_every_pod_finds_its_configuration(get):
    """The ConfigMaps that running Pods mount exist and cannot be changed under them."""
    configs = {one["metadata"]["name"]: one for one in get("configmaps")["items"]}

    for pod in get("pods")["items"]:
        for volume in pod["spec"]["volumes"]:
            if volume["name"] == "config":
                assert configs[volume["configMap"]["name"]]["immutable"]
