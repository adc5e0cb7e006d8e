# SPDX-License-Identifier: Apache-2.0
"""What a MatrixoneCluster becomes: the first operator's objects, and today's start (pure)."""

import tomllib
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early.rendering import (
    EarlyContext,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)

from tests.early.resources import ANNOTATION, DELETE, OLD_IMAGE, Json, early
from tests.support.places import ROOT

LABELS = {"app": "matrixone", "matrixone_cr": "mo"}
OLD_PORTS = {
    "server": 6001,
    "addr-raft": 10000,
    "addr-client": 20000,
    "rpc": 30000,
    "client": 40000,
    "peer": 50000,
    "raft": 20100,
}


def rendered(resource: Json) -> dict[str, Json]:
    """Return the objects by ``Kind/name``; the ConfigMap as ``ConfigMap``."""
    found = render_everything(resource, start_scripts={})
    named = {f"{one['kind']}/{one['metadata']['name']}": one for one in found}
    for name, one in list(named.items()):
        if one["kind"] == "ConfigMap":
            named["ConfigMap"] = named.pop(name)
    return named


def stateful_set(resource: Json) -> Json:
    spec: Json = rendered(resource)["StatefulSet/mo"]["spec"]
    return spec


def container(resource: Json) -> Json:
    (only,) = stateful_set(resource)["template"]["spec"]["containers"]
    return dict(only)


def config(resource: Json, name: str) -> Json:
    return tomllib.loads(rendered(resource)["ConfigMap"]["data"][name])


@pytest.mark.parametrize("image", [OLD_IMAGE, "matrixorigin/matrixone:1.3.0"])
def test_t05_names_labels_claims_and_environment_are_the_old_ones(image: str) -> None:
    objects = rendered(early(image=image))
    spec = objects["StatefulSet/mo"]["spec"]

    assert {"Service/mo", "Service/mo-headless", "StatefulSet/mo"} <= set(objects)
    for one in objects.values():
        assert one["metadata"]["labels"] == LABELS
        assert len(one["metadata"]["annotations"]["matrixoneOpResourceHash"]) == 28
    assert spec["serviceName"] == "mo-headless"
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["selector"] == {"matchLabels": LABELS}
    claims = {one["metadata"]["name"]: one for one in spec["volumeClaimTemplates"]}
    assert {
        name: one["spec"]["resources"]["requests"]["storage"] for name, one in claims.items()
    } == {
        "data": "10Gi",
        "log": "10Gi",
    }
    assert all(one["metadata"]["labels"] == LABELS for one in claims.values())
    assert all(one["spec"]["accessModes"] == ["ReadWriteOnce"] for one in claims.values())
    main = container(early(image=image))
    assert main["name"] == "mo"
    assert [entry["name"] for entry in main["env"]] == ["FIRST_NODE", "SERVICE_NAME", "POD_NAME"]
    assert main["env"][0]["value"] == "mo-0.mo-headless.prod.svc.cluster.local"
    assert main["env"][1]["value"] == "mo-headless.prod.svc.cluster.local"
    mounts = {one["mountPath"]: one["name"] for one in main["volumeMounts"]}
    assert (mounts["/store"], mounts["/log"]) == ("data", "log")


def test_t05_a_clients_service_has_one_port() -> None:
    service = rendered(early())["Service/mo"]["spec"]
    assert [(one["name"], one["port"]) for one in service["ports"]] == [("server", 6001)]
    assert service["type"] == "ClusterIP"


def test_t06_pod_name_has_a_default() -> None:
    expected = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    for given in (DELETE, {"name": ""}):
        variable = container(early(podName=given))["env"][2]
        assert variable == {"name": "POD_NAME", "valueFrom": expected}
    own = {"name": "WHO", "value": "me"}
    assert container(early(podName=own))["env"][2] == own


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("dataVolumeCap", DELETE, id="T7 no size"),
        pytest.param("dataVolumeCap", "", id="T7 empty size"),
        pytest.param("logVolumeCap", "ten", id="T7 no quantity"),
        pytest.param("image", DELETE, id="T8 no image"),
        pytest.param("replicas", -1, id="T9 negative"),
        pytest.param("podManagementPolicy", "Any", id="policy"),
        pytest.param("serviceType", "Any", id="service type"),
    ],
)
def test_t07_t08_t09_what_took_the_first_operator_down_is_named(field: str, value: Any) -> None:
    """Also where no CRD stands before: in a playbook, or with an old CRD."""
    with pytest.raises(InvalidSpec) as refused:
        rendered(early(**{field: value}))
    assert refused.value.field_path == f"spec.{field}"


@pytest.mark.parametrize("replicas", [DELETE, None])
def test_t10_one_pod_where_nothing_is_said(replicas: Any) -> None:
    assert stateful_set(early(replicas=replicas))["replicas"] == 1


@pytest.mark.parametrize(
    ("option", "replicas", "expected"),
    [(False, 1, "Retain"), (True, 1, "Delete"), (True, 3, "Delete"), (True, 0, "Retain")],
)
def test_t12_t13_only_claims_of_surplus_pods_may_go(
    option: bool, replicas: int, expected: str
) -> None:
    """Scaling to 0 keeps the data, and deleting the StatefulSet by hand never takes it along."""
    policy = stateful_set(early(image=OLD_IMAGE, deleteOrphanPvc=option, replicas=replicas))[
        "persistentVolumeClaimRetentionPolicy"
    ]
    assert policy == {"whenScaled": expected, "whenDeleted": "Retain"}


def test_t37_everything_is_kept_below_one_folder_of_the_data_volume() -> None:
    launch = config(early(), "launch.toml")
    assert launch == {
        "logservices": ["/etc/matrixone/log.toml"],
        "tnservices": ["/etc/matrixone/tn.toml"],
        "cnservices": ["/etc/matrixone/cn.toml"],
    }
    for name in ("log.toml", "tn.toml", "cn.toml"):
        service = config(early(), name)
        assert service["data-dir"] == "/store/mo-data"
        for store in service["fileservice"]:
            assert store["data-dir"].startswith("/store/mo-data/")
            assert store["cache"].get("disk-path", "/store/mo-data/").startswith("/store/mo-data/")
        assert "filename" not in service["log"]
    assert container(early())["command"] == ["/mo-service", "-launch", "/etc/matrixone/launch.toml"]


def test_t37_log_lines_reach_the_volume_and_the_output_where_asked_for() -> None:
    resource = early(annotations={"log-to-volume": "true"})
    assert config(resource, "cn.toml")["log"]["filename"] == "/log/mo.log"
    assert container(resource)["command"][:2] == ["/bin/sh", "-c"]
    assert "tail" in container(resource)["command"][2]


def test_t39_what_changes_the_configuration_changes_the_pod() -> None:
    """A ConfigMap is named by its content, so that the Pod template follows."""

    def mounted(resource: Json) -> str:
        volumes = stateful_set(resource)["template"]["spec"]["volumes"]
        return next(str(one["configMap"]["name"]) for one in volumes if "configMap" in one)

    assert mounted(early()) == mounted(early(requests={"cpu": "2"}))
    assert mounted(early()) != mounted(early(limits={"memory": "1Gi"}))
    assert rendered(early()) == rendered(early())


@pytest.mark.parametrize(
    ("limits", "requests", "expected"),
    [
        ({}, {}, 512 << 20),
        ({"memory": "1Gi"}, {"memory": "8Gi"}, 256 << 20),
        ({}, {"memory": "400Mi"}, 100 << 20),
        ({"memory": "64Gi"}, {}, 512 << 20),
    ],
)
def test_t42_the_cache_in_memory_follows_from_the_resources(
    limits: Json, requests: Json, expected: int
) -> None:
    stores = config(early(limits=limits, requests=requests), "cn.toml")["fileservice"]
    (shared,) = [one for one in stores if one["name"] == "SHARED"]
    assert shared["cache"]["memory-capacity"] == f"{expected}B"


def test_t42_all_caches_on_disk_together_stay_within_a_fifth_of_the_volume() -> None:
    total = 0
    for name in ("log.toml", "tn.toml", "cn.toml"):
        for store in config(early(), name)["fileservice"]:
            if store["name"] == "SHARED":
                total += int(store["cache"]["disk-capacity"].removesuffix("B"))
    assert total <= (10 << 30) // 5 + 2


@pytest.mark.parametrize(
    "changes",
    [
        {"image": OLD_IMAGE},
        {"image": "registry:5000/mo:0.9.1@sha256:0123"},
        {"command": ["/run"]},
        {"annotations": {"runtime": "image"}},
    ],
    ids=["T43 old", "T43 digest", "T43 command", "T43 asked for"],
)
def test_t43_an_image_that_starts_by_itself_is_left_alone(changes: Json) -> None:
    objects = rendered(early(**changes))
    main = container(early(**changes))

    assert set(objects) == {"Service/mo", "Service/mo-headless", "StatefulSet/mo"}
    headless = objects["Service/mo-headless"]["spec"]["ports"]
    assert {one["name"]: one["port"] for one in headless} == OLD_PORTS
    assert {one["name"]: one["containerPort"] for one in main["ports"]} == OLD_PORTS
    assert set(main) - {"command"} == {
        *("name", "image", "env", "imagePullPolicy", "ports", "resources", "volumeMounts"),
    }
    assert main["volumeMounts"][2] == {
        "name": "data",
        "mountPath": "/mo-data",
        "subPath": "mo-data",
    }
    assert set(objects["StatefulSet/mo"]["spec"]["template"]["spec"]) == {"containers"}


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("mo", "launch"),
        ("mo:latest", "launch"),
        ("registry:5000/mo", "launch"),
        ("mo@sha256:01", "launch"),
        ("mo:v1.0.0-rc1", "launch"),
        ("mo:0.9", "image"),
    ],
)
def test_t43_the_tag_decides_how_it_is_started(image: str, expected: str) -> None:
    assert EarlyContext.of(early(image=image)).runtime == expected


def test_t43_a_runtime_that_is_none_is_named() -> None:
    with pytest.raises(InvalidSpec, match=f"{ANNOTATION}/runtime.*must be one of auto, image"):
        rendered(early(annotations={"runtime": "docker"}))


@pytest.mark.parametrize("path", sorted((ROOT / "examples/early").glob("*.yaml")), ids=str)
def test_every_example_is_rendered(path: Any) -> None:
    objects = render_everything(yaml.safe_load(path.read_text()), start_scripts={})
    assert objects[-1]["kind"] == "StatefulSet"
