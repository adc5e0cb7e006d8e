# SPDX-License-Identifier: Apache-2.0
"""A cluster's children and everything below them."""

import json
import tomllib
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)

from tests.support import resources as r

SCRIPTS = dict.fromkeys(("logset", "dnset", "cnset", "proxyset"), r.SCRIPT)


def children(**spec: Any) -> list[r.Json]:
    return render_matrixonecluster(r.cluster(**spec))


def test_children_and_their_order() -> None:
    found = children(proxy={"replicas": 1}, webui={"replicas": 1}, tp={"replicas": 1}, cnGroups=[])
    assert [(c["kind"], c["metadata"]["name"]) for c in found] == [
        ("LogSet", "mo"),
        ("DNSet", "mo"),
        ("CNSet", "mo-tp"),
        ("ProxySet", "mo"),
        ("WebUI", "mo"),
    ]
    for child in found:
        assert child["apiVersion"] == r.API_VERSION
        assert child["metadata"]["namespace"] == "prod"
        assert child["metadata"]["labels"]["matrixorigin.io/cluster"] == "mo"


def test_dependencies_name_the_siblings() -> None:
    found = {c["kind"]: c.get("deps") for c in children(proxy={}, webui={})}
    sibling = {"metadata": {"name": "mo", "namespace": "prod"}}
    assert found == {
        "LogSet": None,
        "DNSet": {"logSet": sibling},
        "CNSet": {"logSet": sibling, "dnSet": sibling},
        "ProxySet": {"logSet": sibling},
        "WebUI": {"cnset": {"metadata": {"name": "mo-tp", "namespace": "prod"}}},
    }


@pytest.mark.parametrize(
    ("cluster", "component", "image"),
    [
        ({}, {}, "matrixorigin/matrixone:2.0.1"),
        ({"imageRepository": r.DELETE}, {}, "matrixorigin/matrixone:2.0.1"),
        ({"imageRepository": "reg:5000/mo"}, {}, "reg:5000/mo:2.0.1"),
        ({"imageRepository": "reg:5000/mo"}, {"image": "own:1"}, "own:1"),
    ],
)
def test_image(cluster: Any, component: Any, image: str) -> None:
    tn = r.find(children(**cluster, tn=component), "DNSet")
    assert tn["spec"]["image"] == image


INHERITED: list[tuple[str, Any, Any]] = [
    ("nodeSelector", {"a": "b"}, {"c": "d"}),
    ("nodeSelector", {"a": "b"}, {}),
    ("topologySpread", ["zone"], ["host"]),
    ("topologySpread", ["zone"], []),
    ("semanticVersion", "1.2.3", "1.1.1"),
    ("operatorVersion", "1.2.0", "1.3.0"),
    ("memoryFsSize", "512Mi", "1Gi"),
    ("clusterDomain", "cluster.example", "own.example"),
]


@pytest.mark.parametrize(("field", "value", "own"), INHERITED)
def test_components_inherit_what_they_do_not_say(field: str, value: Any, own: Any) -> None:
    spec = {field: value, "proxy": {}, "tn": {field: own}}
    found = {c["kind"]: c["spec"][field] for c in children(**spec)}
    assert found == {"LogSet": value, "DNSet": own, "CNSet": value, "ProxySet": value}


def test_addresses_of_a_cluster_follow_its_domain() -> None:
    """Not one address of a Service is left that ends in .svc."""
    group = {"name": "tp", "scalingConfig": {"storeDrainEnabled": True}}
    subject = r.cluster(clusterDomain="k8s.example", cnGroups=[group], proxy={}, webui={})
    objects = render_everything(subject, start_scripts=SCRIPTS)

    def config(base: str) -> r.Json:
        return r.config([one for one in objects if one["metadata"]["name"].startswith(base)])

    assert config("mo-webui")["db"]["host"] == "mo-tp-cn.prod.svc.k8s.example"
    for base in ("mo-dn", "mo-tp-cn", "mo-proxy"):
        discovery = config(base)["hakeeper-client"]["discovery-address"]
        assert discovery == "mo-log-discovery.prod.svc.k8s.example:32001"
    main = r.main([one for one in objects if one["metadata"]["name"] == "mo-tp-cn"])
    assert main["lifecycle"]["preStop"]["exec"]["command"][-3:] == [
        f"{base}-headless.prod.svc.k8s.example" for base in ("mo-tp-cn", "mo-log", "mo-dn")
    ]
    text = json.dumps(objects)
    assert text.count(".prod.svc") == text.count(".prod.svc.k8s.example") > 0


def test_operator_version_has_a_default() -> None:
    assert {c["spec"]["operatorVersion"] for c in children(proxy={})} == {"1.4.0"}


def test_pull_policy_and_cluster_label_go_into_the_overlay() -> None:
    over = {"imagePullPolicy": "Never", "podLabels": {"a": "b"}}
    found = {
        c["kind"]: c["spec"]["overlay"]
        for c in children(imagePullPolicy="Always", tn={"overlay": over})
    }
    assert found["LogSet"]["imagePullPolicy"] == "Always"
    assert found["DNSet"]["imagePullPolicy"] == "Never"
    assert found["DNSet"]["podLabels"] == {"a": "b", "matrixorigin.io/cluster": "mo"}


PLACED = {
    "nodeSelector": {"disk": "ssd"},
    "topologySpread": ["zone"],
    "imagePullPolicy": "Always",
}


def web_pod(web: r.Json, **spec: Any) -> tuple[Any, Any, set[str]]:
    """Return node selector and spread of the dashboard's Pods, and how its images are pulled."""
    subject = r.cluster(**{**PLACED, "webui": web, **spec})
    objects = render_everything(subject, start_scripts=SCRIPTS)
    pod = r.pod([one for one in objects if one["metadata"]["name"] == "mo-webui"])
    spread = [one["topologyKey"] for one in pod.get("topologySpreadConstraints", [])]
    pulled = {one["imagePullPolicy"] for one in [*pod["containers"], *pod["initContainers"]]}
    return pod.get("nodeSelector"), spread, pulled


@pytest.mark.parametrize(
    ("web", "version", "expected"),
    [
        ({}, "1.4.0", ({"disk": "ssd"}, ["zone"], {"Always"})),
        ({}, "1.4.1", ({"disk": "ssd"}, ["zone"], {"Always"})),
        ({"operatorVersion": "1.4.0"}, "1.3.0", ({"disk": "ssd"}, ["zone"], {"Always"})),
        (
            {"nodeSelector": {}, "topologySpread": [], "imagePullPolicy": "Never"},
            "1.4.0",
            (None, [], {"Never"}),
        ),
        ({}, "1.3.0", (None, [], {"Always", "IfNotPresent"})),
        ({}, r.DELETE, ({"disk": "ssd"}, ["zone"], {"Always"})),
        ({"operatorVersion": "1.3.0"}, "1.4.0", (None, [], {"Always", "IfNotPresent"})),
    ],
)
def test_dashboard_is_placed_like_the_others_from_1_4_on(
    web: r.Json, version: Any, expected: tuple[Any, Any, set[str]]
) -> None:
    assert web_pod(web, operatorVersion=version) == expected


def test_dashboard_has_the_operator_version_of_its_cluster_from_1_4_on() -> None:
    """Before, it had the default of its time; a default that moves on must not restart it."""

    def version(of_cluster: str) -> Any:
        return r.find(children(operatorVersion=of_cluster, webui={}), "WebUI")["spec"].get(
            "operatorVersion"
        )

    assert (version("1.4.0"), version("1.3.0"), version("1.2.0")) == ("1.4.0", "1.3.0", "1.3.0")


def test_compute_nodes_know_the_default_password() -> None:
    group = {"name": "tp", "overlay": {"env": [{"name": "A", "value": "1"}]}}
    env = r.find(children(cnGroups=[group]), "CNSet")["spec"]["overlay"]["env"]
    secret = {"secretKeyRef": {"name": "mo-credential", "key": "password"}}
    assert env == [{"name": "A", "value": "1"}, {"name": "DEFAULT_PASSWORD", "valueFrom": secret}]
    chosen = r.find(children(credentialSecretRef={"name": "root"}), "CNSet")["spec"]["overlay"]
    assert chosen["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "root"


def test_proxy_is_announced_to_the_compute_nodes() -> None:
    text = "[cn]\nmine = 1\n[cn.frontend]\nport = 2\n"
    group = {"name": "tp", "config": text}
    with_proxy = r.find(children(cnGroups=[group], proxy={}), "CNSet")["spec"]["config"]
    assert tomllib.loads(with_proxy) == {
        "cn": {"mine": 1, "frontend": {"port": 2, "proxy-enabled": True}}
    }
    assert r.find(children(cnGroups=[group]), "CNSet")["spec"]["config"] == text
    assert "config" not in r.find(children(), "CNSet")["spec"]


def test_groups_and_legacy_groups() -> None:
    found = children(
        cnGroups=[{"name": "a"}, {"name": "b", "replicas": 3}], tp={}, ap={"role": "AP"}
    )
    sets = {c["metadata"]["name"]: c["spec"] for c in found if c["kind"] == "CNSet"}
    assert list(sets) == ["mo-a", "mo-b", "mo-tp", "mo-ap"]
    assert "name" not in sets["mo-a"]
    assert "replicas" not in sets["mo-a"]
    assert sets["mo-b"]["replicas"] == 3
    assert sets["mo-tp"]["dnsBasedIdentity"] is False
    assert "dnsBasedIdentity" not in sets["mo-ap"]


def test_each_part_has_its_own_seconds_to_be_ready() -> None:
    found = children(
        logService={"minReadySeconds": 1},
        tn={"minReadySeconds": 2},
        cnGroups=[{"name": "a", "minReadySeconds": 3}, {"name": "b"}],
        tp={"minReadySeconds": 4},
        ap={"minReadySeconds": 0},
        proxy={"minReadySeconds": 6},
    )
    seconds = {
        f"{c['kind']}/{c['metadata']['name']}": c["spec"].get("minReadySeconds") for c in found
    }
    assert seconds == {
        "LogSet/mo": 1,
        "DNSet/mo": 2,
        "CNSet/mo-a": 3,
        "CNSet/mo-b": None,
        "CNSet/mo-tp": 4,
        "CNSet/mo-ap": 0,
        "ProxySet/mo": 6,
    }


def test_legacy_transaction_node() -> None:
    found = r.find(children(tn=r.DELETE, dn={"replicas": 1, "config": "a = 1\n"}), "DNSet")
    assert found["spec"]["config"] == "a = 1\n"


def test_restoring_cluster_starts_from_the_saved_state() -> None:
    found = r.find(
        children(restoreFrom="backup", logService={"initialConfig": {"logShards": 2}}), "LogSet"
    )
    assert found["spec"]["initialConfig"] == {"logShards": 2, "restoreFrom": "hk_data"}
    assert "initialConfig" not in r.find(children(), "LogSet")["spec"]


def test_dashboard_keeps_its_own_image() -> None:
    found = r.find(children(webui={"replicas": 1}), "WebUI")["spec"]
    assert "image" not in found
    assert found["credentialSecretRef"] == {"name": "mo-credential"}
    alone = r.find(children(webui={"replicas": 1}, cnGroups=[]), "WebUI")
    assert "deps" not in alone


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"logService": r.DELETE}, r"spec\.logService: must be set"),
        ({"version": ""}, r"spec\.version: must be set"),
        ({"tn": r.DELETE}, r"spec\.tn: must be set"),
        ({"dn": {}}, r"spec\.dn: only one of tn and dn may be set"),
        ({"cnGroups": [{"name": "a"}, {"name": "a"}]}, r"spec\.cnGroups\[1\]\.name: group 'a' is"),
        ({"cnGroups": [{"name": "tp"}], "tp": {}}, r"spec\.tp: group 'tp' is there twice"),
        ({"cnGroups": [{}]}, r"spec\.cnGroups\[0\]\.name: must be set"),
        ({"cnGroups": [{"name": "a b"}]}, r"spec\.cnGroups\[0\]\.name: 'mo-a b' must be"),
        ({"cnGroups": [{"name": "a.b"}]}, r"spec\.cnGroups\[0\]\.name: 'mo-a\.b' must be"),
        (
            {"cnGroups": [{"name": "x" * 60}]},
            r"spec\.cnGroups\[0\]\.name: .* at most 51 leave room",
        ),
        (
            {"cnGroups": [{"name": "a", "config": "x"}], "proxy": {}},
            r"spec\.cnGroups\[0\]\.config: ",
        ),
        ({"tn": []}, r"spec\.tn: must be an object, not a list"),
    ],
)
def test_unusable_cluster_names_its_field(spec: Any, message: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=f"^{message}"):
        children(**spec)


@pytest.mark.parametrize(("length", "fits"), [(46, True), (47, False)])
def test_longest_cluster_name(length: int, fits: bool) -> None:
    subject = r.cluster(proxy={}, webui={})
    subject["metadata"]["name"] = "m" * length
    if not fits:
        with pytest.raises(errors.InvalidSpec, match=r"^metadata\.name: must have at most 46"):
            render_matrixonecluster(subject)
        return
    for manifest in render_everything(subject, start_scripts=SCRIPTS):
        if manifest["kind"] == "Service":
            assert len(manifest["metadata"]["name"]) <= 63


def test_rendering_a_cluster_changes_no_input() -> None:
    make: dict[str, Any] = {"proxy": {}, "webui": {}, "nodeSelector": {"a": "b"}}
    subject = r.cluster(**make)
    for manifest in render_everything(subject, start_scripts=SCRIPTS):
        manifest.get("spec", {}).clear()
    assert subject == r.cluster(**make)


def test_everything_follows_its_owner() -> None:
    found = render_everything(r.cluster(proxy={}, webui={}), start_scripts=SCRIPTS)
    owners = [
        (index, o["kind"]) for index, o in enumerate(found) if o["apiVersion"] == r.API_VERSION
    ]
    assert [kind for _, kind in owners] == ["LogSet", "DNSet", "CNSet", "ProxySet", "WebUI"]
    for (start, kind), (end, _) in zip(owners, [*owners[1:], (len(found), "")], strict=True):
        components = {
            o["metadata"]["labels"]["matrixorigin.io/component"] for o in found[start + 1 : end]
        }
        assert components == {kind}
    pods = [r.workload([o]) for o in found if o["kind"] in ("StatefulSet", "Deployment")]
    for workload in pods:
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert labels["matrixorigin.io/cluster"] == "mo"


def test_object_names_are_unique() -> None:
    found = render_everything(r.cluster(proxy={}, webui={}), start_scripts=SCRIPTS)
    identities = [(o["apiVersion"], o["kind"], o["metadata"]["name"]) for o in found]
    assert len(identities) == len(set(identities))


def test_error_of_a_child_names_the_child() -> None:
    subject = r.cluster(tn={"config": "x"})
    with pytest.raises(errors.InvalidSpec, match=r"^DNSet mo: spec\.config: is not valid TOML"):
        render_everything(subject, start_scripts=SCRIPTS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "CNPool"}, r"kind: CNPool is not rendered here; it must be one of MatrixOneC"),
        ({"apiVersion": "v1"}, r"apiVersion: must be core\.matrixorigin\.io/v1alpha1, not 'v1'"),
        ({"metadata": None}, r"metadata\.name: must be set"),
        ({"spec": None}, r"deps: one of logSet"),
    ],
)
def test_what_is_not_ours_is_refused(change: Any, message: str) -> None:
    subject = {**r.cnset(), **change}
    if change == {"spec": None}:
        subject.pop("deps")
    with pytest.raises(errors.InvalidSpec, match=f"^{message}"):
        render_everything(subject, start_scripts=SCRIPTS)
