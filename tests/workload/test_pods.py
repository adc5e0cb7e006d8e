# SPDX-License-Identifier: Apache-2.0
"""What the Pods of all components have in common."""

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors

from tests.support import resources as r

Make = Callable[..., r.Json]
SETS = [r.logset, r.dnset, r.cnset, r.proxyset]
STORES = [r.logset, r.dnset, r.cnset]
EVERY_SET = pytest.mark.parametrize("make", SETS)
EVERY_STORE = pytest.mark.parametrize("make", STORES)


@EVERY_SET
def test_pod_meets_the_restricted_profile(make: Make) -> None:
    objects = r.render(make())
    pod, main = r.pod(objects)["securityContext"], r.main(objects)["securityContext"]
    assert pod["runAsNonRoot"] is True
    assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
    assert main["allowPrivilegeEscalation"] is False
    assert main["capabilities"] == {"drop": ["ALL"]}
    assert main["readOnlyRootFilesystem"] is True


@EVERY_SET
def test_there_is_a_place_to_write(make: Make) -> None:
    objects = r.render(make())
    mounts = r.mounts(objects)
    claims = r.workload(objects)["spec"].get("volumeClaimTemplates", [])
    provided = set(r.volumes(objects)) | {claim["metadata"]["name"] for claim in claims}
    assert r.main(objects)["workingDir"] == "/var/lib/matrixone"
    assert {mounts["/var/lib/matrixone"], mounts["/tmp"]} == {"mo-data", "tmp"}
    assert set(mounts.values()) <= provided


@EVERY_SET
def test_data_volume_comes_from_one_place(make: Make) -> None:
    for volume in ({}, {"cacheVolume": {"size": "1Gi"}}):
        objects = r.render(make(**volume))
        claims = r.workload(objects)["spec"].get("volumeClaimTemplates", [])
        names = [claim["metadata"]["name"] for claim in claims] + list(r.volumes(objects))
        assert names.count("mo-data") == 1


@EVERY_SET
def test_selector_is_the_three_labels(make: Make) -> None:
    subject = make()
    for manifest in r.render(subject):
        labels = manifest["metadata"]["labels"]
        assert labels["matrixorigin.io/namespace"] == "prod"
        assert labels["matrixorigin.io/instance"] == subject["metadata"]["name"]
        assert labels["matrixorigin.io/component"] == subject["kind"]
        assert labels["app.kubernetes.io/part-of"] == "matrixone"
        assert "ownerReferences" not in manifest["metadata"]
    spec = r.workload(r.render(subject))["spec"]
    assert spec["selector"]["matchLabels"] == {
        "matrixorigin.io/namespace": "prod",
        "matrixorigin.io/instance": subject["metadata"]["name"],
        "matrixorigin.io/component": subject["kind"],
    }
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@EVERY_SET
def test_nothing_of_kruise_is_left(make: Make) -> None:
    assert "kruise" not in repr(r.render(make())).lower()


@EVERY_SET
def test_every_store_has_probes_except_what_would_harm(make: Make) -> None:
    main = r.main(r.render(make()))
    ports = {"LogSet": 32001, "DNSet": 41010, "CNSet": 6001, "ProxySet": 6001}
    port = ports[make()["kind"]]
    probes = {name: main[name]["tcpSocket"]["port"] for name in main if name.endswith("Probe")}
    if make is r.proxyset:
        assert probes == {"readinessProbe": port}
        assert (
            main["readinessProbe"]["periodSeconds"],
            main["readinessProbe"]["failureThreshold"],
        ) == (5, 2)
    else:
        assert probes == dict.fromkeys(("startupProbe", "readinessProbe", "livenessProbe"), port)


@EVERY_SET
def test_arguments_follow_the_configuration(make: Make) -> None:
    assert r.main(r.render(make()))["args"] == ["-debug-http=:6060"]
    assert r.main(r.render(make(serviceArgs=["-a", "b c"])))["args"] == ["-a", "b c"]
    assert r.main(r.render(make(serviceArgs=[])))["args"] == []


@EVERY_SET
@pytest.mark.parametrize("args", [["-cfg", "x"], ["-cfg=x"], ["--cfg=x"]])
def test_configuration_file_cannot_be_given_twice(make: Make, args: list[str]) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.serviceArgs: must not contain -cfg"):
        r.render(make(serviceArgs=args))


@EVERY_SET
def test_image_is_needed(make: Make) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.image: must be set"):
        r.render(make(image=r.DELETE))


@EVERY_SET
def test_memory_limit_of_the_runtime(make: Make) -> None:
    limits = {"resources": {"limits": {"memory": "1Gi"}}}
    assert r.env(r.render(make(memoryLimitPercent=50, **limits)))["GOMEMLIMIT"] == str(2**29)
    assert "GOMEMLIMIT" not in r.env(r.render(make(memoryLimitPercent=50)))
    assert "GOMEMLIMIT" not in r.env(r.render(make(**limits)))
    own = {"overlay": {"env": [{"name": "GOMEMLIMIT", "value": "1"}]}}
    assert r.env(r.render(make(memoryLimitPercent=50, **limits, **own)))["GOMEMLIMIT"] == "1"
    for percent in (0, 101, -1, "50"):
        with pytest.raises(errors.InvalidSpec, match=r"^spec\.memoryLimitPercent: must be "):
            r.render(make(memoryLimitPercent=percent, **limits))


@EVERY_STORE
def test_go_debug_default(make: Make) -> None:
    assert r.env(r.render(make()))["GODEBUG"] == "madvdontneed=1,gctrace=2"


def test_proxy_has_no_go_debug_default() -> None:
    assert "GODEBUG" not in r.env(r.render(r.proxyset()))


@EVERY_STORE
def test_binary_in_memory(make: Make) -> None:
    objects = r.render(make(memoryFsSize="512Mi"))
    assert r.volumes(objects)["tmpfs"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "512Mi"}
    assert r.mounts(objects)["/matrixone/bin"] == "tmpfs"
    assert r.env(objects)["MO_BIN_PATH"] == "/matrixone/bin"
    assert "MO_BIN_PATH" not in r.env(r.render(make()))


def test_binary_of_the_proxy_stays_on_disk() -> None:
    assert "tmpfs" not in r.volumes(r.render(r.proxyset(memoryFsSize="512Mi")))


@EVERY_SET
def test_placement(make: Make) -> None:
    objects = r.render(make(nodeSelector={"disk": "ssd"}, topologySpread=["zone", "host"]))
    pod = r.pod(objects)
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert [c["topologyKey"] for c in pod["topologySpreadConstraints"]] == ["zone", "host"]
    assert pod["topologySpreadConstraints"][0] == {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": r.workload(objects)["spec"]["selector"],
    }
    assert not {"nodeSelector", "topologySpreadConstraints"} & r.pod(r.render(make())).keys()


@EVERY_SET
def test_metrics_are_announced_where_the_spec_says(make: Make) -> None:
    scrape = {"prometheus.io/scrape": "true", "prometheus.io/port": "7001"}

    def annotated(**spec: Any) -> tuple[bool, bool]:
        objects = r.render(make(**spec))
        template = r.workload(objects)["spec"]["template"]["metadata"].get("annotations", {})
        services = [o["metadata"].get("annotations", {}) for o in objects if o["kind"] == "Service"]
        enabled = r.config(objects).get("observability", {}).get("enableMetricToProm", False)
        assert enabled is bool(spec)
        found = [service for service in services if scrape.items() <= service.items()]
        assert len(found) <= 1
        return scrape.items() <= template.items(), bool(found)

    assert annotated() == (False, False)
    assert annotated(exportToPrometheus=True) == (False, True)
    assert annotated(exportToPrometheus=True, promDiscoveryScheme="Service") == (False, True)
    assert annotated(exportToPrometheus=True, promDiscoveryScheme="Pod") == (True, False)
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.promDiscoveryScheme: must be one of"):
        r.render(make(exportToPrometheus=True, promDiscoveryScheme="Node"))


@EVERY_SET
def test_versions_are_written_on_the_pods(make: Make) -> None:
    def annotations(**spec: Any) -> dict[str, str]:
        template = r.workload(r.render(make(**spec)))["spec"]["template"]
        found: dict[str, str] = template["metadata"].get("annotations", {})
        return found

    version, operator = "matrixorigin.io/semantic-version", "matrixorigin.io/operator-version"
    assert annotations()[version] == "2.0.1"
    assert annotations(semanticVersion="v1.1")[version] == "1.1.0"
    assert version not in annotations(image="a/b:nightly")
    assert annotations()[operator] == "1.4.0"
    assert operator not in annotations(operatorVersion="v1.2.0")
    assert annotations(operatorVersion="1.3")[operator] == "1.3.0"


@EVERY_SET
def test_api_token_is_mounted_only_for_a_chosen_account(make: Make) -> None:
    assert r.pod(r.render(make()))["automountServiceAccountToken"] is False
    chosen = r.render(make(overlay={"serviceAccountName": "robot"}))
    assert "automountServiceAccountToken" not in r.pod(chosen)


@EVERY_SET
def test_config_map_is_immutable_and_named_by_its_content(make: Make) -> None:
    first = r.config_map(r.render(make()))
    again = r.config_map(r.render(make()))
    other = r.config_map(r.render(make(config='[log]\nlevel = "debug"\n')))
    assert first == again
    assert first["immutable"] is True
    assert first["metadata"]["name"] != other["metadata"]["name"]
    objects = r.render(make())
    mounted = r.volumes(objects)["config"]["configMap"]
    assert mounted == {"name": r.name_of(first), "defaultMode": 0o644}


@EVERY_SET
def test_user_configuration_is_kept_below_the_operators(make: Make) -> None:
    text = 'service-type = "X"\n[log]\nlevel = "debug"\n[[fileservice]]\nname = "MINE"\n'
    found = r.config(r.render(make(config=text)))
    assert found["log"] == {"level": "debug"}
    assert found["service-type"] != "X"
    assert [entry["name"] for entry in found["fileservice"]] == ["LOCAL", "S3", "ETL", "MINE"]


@EVERY_SET
def test_replicas_are_left_to_others_when_left_out(make: Make) -> None:
    assert r.workload(r.render(make(replicas=5)))["spec"]["replicas"] == 5
    assert r.workload(r.render(make(replicas=0)))["spec"]["replicas"] == 0
    if make is not r.logset:
        assert "replicas" not in r.workload(r.render(make(replicas=r.DELETE)))["spec"]
    else:
        with pytest.raises(errors.InvalidSpec, match=r"^spec\.replicas: must be set"):
            r.render(make(replicas=r.DELETE))


@EVERY_SET
def test_rendering_changes_no_input(make: Make) -> None:
    subject, before = make(config="a = 1\n"), make(config="a = 1\n")
    log_set = r.logset()
    r.render(subject, log_set=log_set)
    assert subject == before
    assert log_set == r.logset()


@EVERY_SET
def test_budget_and_policy_can_be_switched_off(make: Make) -> None:
    kinds = {o["kind"] for o in r.render(make())}
    assert {"PodDisruptionBudget", "NetworkPolicy"} <= kinds
    off = {"podDisruptionBudget": {"enabled": False}, "networkPolicy": {"enabled": False}}
    kinds = {o["kind"] for o in r.render(make(**off))}
    assert not {"PodDisruptionBudget", "NetworkPolicy"} & kinds
    budget = r.find(
        r.render(make(podDisruptionBudget={"maxUnavailable": "50%"})), "PodDisruptionBudget"
    )
    assert budget["spec"]["maxUnavailable"] == "50%"


@EVERY_SET
def test_order_is_that_of_need(make: Make) -> None:
    kinds = [o["kind"] for o in r.render(make())]
    workload = next(i for i, kind in enumerate(kinds) if kind in ("StatefulSet", "Deployment"))
    assert all(kinds.index(kind) < workload for kind in ("ConfigMap", "Service"))


@pytest.mark.parametrize("name", ["9mo", "Mo", "mo.x", "mo_x", "-mo", "mo-", "x" * 60])
@EVERY_SET
def test_a_name_that_no_service_can_have_is_refused(make: Make, name: str) -> None:
    subject = make()
    subject["metadata"]["name"] = name
    with pytest.raises(errors.InvalidSpec, match=r"^metadata\.name: "):
        r.render(subject)


def test_a_longest_name_gives_valid_names() -> None:
    subject = r.logset()
    subject["metadata"]["name"] = "m" * 46
    for manifest in r.render(subject):
        limit = 253 if manifest["kind"] == "ConfigMap" else 63
        assert len(manifest["metadata"]["name"]) <= limit
