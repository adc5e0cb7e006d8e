# SPDX-License-Identifier: Apache-2.0
"""The overlay, row by row."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors

from tests.support import resources as r

PROBE = {"exec": {"command": ["true"]}}
REPLACED_IN_MAIN: list[tuple[str, str, Any]] = [
    ("command", "command", ["/bin/true"]),
    ("args", "args", ["-x"]),
    ("envFrom", "envFrom", [{"secretRef": {"name": "s"}}]),
    ("imagePullPolicy", "imagePullPolicy", "Always"),
    ("livenessProbe", "livenessProbe", PROBE),
    ("readinessProbe", "readinessProbe", PROBE),
    ("startupProbe", "startupProbe", PROBE),
    ("lifecycle", "lifecycle", {"preStop": PROBE}),
    ("mainContainerSecurityContext", "securityContext", {"runAsUser": 0}),
]
REPLACED_IN_POD: list[tuple[str, Any]] = [
    ("initContainers", [{"name": "init", "image": "i"}]),
    ("serviceAccountName", "robot"),
    ("priorityClassName", "high"),
    ("securityContext", {"fsGroup": 7}),
    ("imagePullSecrets", [{"name": "pull"}]),
    ("affinity", {"podAntiAffinity": {}}),
    ("tolerations", [{"operator": "Exists"}]),
    ("terminationGracePeriodSeconds", 0),
    ("hostAliases", [{"ip": "10.0.0.1", "hostnames": ["h"]}]),
    ("runtimeClassName", "gvisor"),
    ("dnsConfig", {"nameservers": ["10.0.0.2"]}),
    ("shareProcessNamespace", True),
    ("topologySpreadConstraints", [{"maxSkew": 2, "topologyKey": "z"}]),
]


@pytest.mark.parametrize(("field", "target", "value"), REPLACED_IN_MAIN)
def test_main_is_replaced(field: str, target: str, value: Any) -> None:
    for subject in (r.logset, r.dnset, r.cnset, r.proxyset):
        assert r.main(r.render(subject(overlay={field: value})))[target] == value


@pytest.mark.parametrize(("field", "value"), REPLACED_IN_POD)
def test_pod_is_replaced(field: str, value: Any) -> None:
    subject = r.cnset(overlay={field: value}, topologySpread=["zone"])
    assert r.pod(r.render(subject))[field] == value


@pytest.mark.parametrize("nothing", [None, {}])
@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_a_probe_can_be_taken_away(probe: str, nothing: Any) -> None:
    assert probe in r.main(r.render(r.logset()))
    assert probe not in r.main(r.render(r.logset(overlay={probe: nothing})))


def test_security_contexts_can_be_taken_away() -> None:
    over = {"securityContext": None, "mainContainerSecurityContext": None}
    objects = r.render(r.logset(overlay=over))
    assert "securityContext" not in r.pod(objects)
    assert "securityContext" not in r.main(objects)


def test_environment_is_changed_by_name_and_extended() -> None:
    objects = r.render(
        r.logset(
            overlay={"env": [{"name": "POD_NAME", "value": "x"}, {"name": "NEW", "value": "1"}]}
        )
    )
    names = [entry["name"] for entry in r.main(objects)["env"]]
    assert names == [
        "POD_NAME", "NAMESPACE", "POD_IP", "HEADLESS_SERVICE_NAME", "ADDRESS_STYLE", "NEW",
        "GODEBUG", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION",
    ]  # fmt: skip
    assert r.env(objects)["POD_NAME"] == "x"


def test_credentials_of_the_storage_cannot_be_changed() -> None:
    objects = r.render(r.logset(overlay={"env": [{"name": "AWS_REGION", "value": "x"}]}))
    assert r.env(objects)["AWS_REGION"] == "us-west-2"


def test_own_godebug_beats_the_default() -> None:
    objects = r.render(r.cnset(overlay={"env": [{"name": "GODEBUG", "value": "x"}]}))
    assert r.env(objects)["GODEBUG"] == "x"


def test_one_volume_at_two_paths() -> None:
    over = {
        "volumes": [{"name": "extra", "emptyDir": {}}],
        "volumeMounts": [
            {"name": "extra", "mountPath": "/a"},
            {"name": "extra", "mountPath": "/b", "subPath": "b"},
        ],
    }
    mounts = r.mounts(r.render(r.cnset(overlay=over)))
    assert (mounts["/a"], mounts["/b"]) == ("extra", "extra")
    assert mounts["/var/lib/matrixone"] == "mo-data"


def test_a_mount_can_be_replaced() -> None:
    over = {
        "volumes": [{"name": "tmp", "hostPath": {"path": "/scratch"}}],
        "volumeMounts": [{"name": "mine", "mountPath": "/var/lib/matrixone"}],
    }
    objects = r.render(r.cnset(overlay=over))
    assert r.mounts(objects)["/var/lib/matrixone"] == "mine"
    assert r.volumes(objects)["tmp"] == {"name": "tmp", "hostPath": {"path": "/scratch"}}
    assert len(r.pod(objects)["volumes"]) == len(r.volumes(objects))


def test_sidecars_follow_main() -> None:
    objects = r.render(r.cnset(overlay={"sidecarContainers": [{"name": "side", "image": "i"}]}))
    assert [c["name"] for c in r.pod(objects)["containers"]] == ["main", "side"]


def test_labels_and_annotations_are_changed_by_key() -> None:
    over = {
        "podLabels": {"app.kubernetes.io/name": "mine", "team": "a"},
        "podAnnotations": {"matrixorigin.io/semantic-version": "9", "note": "b"},
    }
    metadata = r.workload(r.render(r.cnset(overlay=over)))["spec"]["template"]["metadata"]
    assert metadata["labels"]["app.kubernetes.io/name"] == "mine"
    assert metadata["labels"]["team"] == "a"
    assert metadata["annotations"]["matrixorigin.io/semantic-version"] == "9"
    assert metadata["annotations"]["note"] == "b"


def test_labels_by_which_the_workload_selects_stay() -> None:
    objects = r.render(r.cnset(overlay={"podLabels": {"matrixorigin.io/instance": "other"}}))
    spec = r.workload(objects)["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_claims_follow_the_data_claim_of_a_stateful_set() -> None:
    claim = {"metadata": {"name": "more"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    templates = r.workload(r.render(r.logset(overlay={"volumeClaims": [claim]})))["spec"][
        "volumeClaimTemplates"
    ]
    assert [t["metadata"]["name"] for t in templates] == ["mo-data", "more"]
    assert templates[1] == claim


def test_claims_of_a_deployment_live_with_their_pod() -> None:
    claim = {"metadata": {"name": "more", "labels": {"a": "b"}}, "spec": {"accessModes": ["x"]}}
    objects = r.render(r.cnset(cacheVolume={"size": "1Gi"}, overlay={"volumeClaims": [claim]}))
    template = r.volumes(objects)["more"]["ephemeral"]["volumeClaimTemplate"]
    assert template["spec"] == {"accessModes": ["x"]}
    assert template["metadata"]["labels"]["a"] == "b"


def test_a_removed_overlay_leaves_no_trace() -> None:
    over = dict(REPLACED_IN_POD) | {"podLabels": {"a": "b"}, "env": [{"name": "A", "value": "1"}]}
    assert r.render(r.cnset(overlay=over)) != r.render(r.cnset())
    assert r.render(r.cnset(overlay={})) == r.render(r.cnset(overlay=None)) == r.render(r.cnset())


@pytest.mark.parametrize(
    ("over", "path"),
    [
        ({"env": [{"value": "x"}]}, r"spec\.overlay\.env\[0\]\.name: must be set"),
        ({"env": {"A": "b"}}, r"spec\.overlay\.env: must be a list, not an object"),
        ({"env": ["A=b"]}, r"spec\.overlay\.env\[0\]: must be an object, not a text"),
        ({"volumeMounts": [{"name": "a"}]}, r"spec\.overlay\.volumeMounts\[0\]\.mountPath: must"),
        ({"podLabels": {"a": 1}}, r"spec\.overlay\.podLabels\.a: must be a text, not a number"),
        ([], r"spec\.overlay: must be an object, not a list"),
        ({"volumeClaims": [{}]}, r"spec\.overlay\.volumeClaims\[0\]\.metadata\.name: must be set"),
    ],
)
def test_unusable_overlay_names_its_field(over: Any, path: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=f"^{path}"):
        r.render(r.logset(overlay=over))
