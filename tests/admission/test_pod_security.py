# SPDX-License-Identifier: Apache-2.0
"""Creating a resource is no way around the rights that its author does not have on Pods."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.matrixorigin.matrixone.plugins.filter.admission import admission
from ansible_collections.matrixorigin.matrixone.plugins.filter.plans import plan_for
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    VARIABLE,
    Level,
    level_of,
    pod_mistakes,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.rendering import (
    render_logset,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import Play
from hypothesis import given, settings

from testbed.api import ApiError
from testbed.bed import TestBed
from tests.admission.security_cases import (
    FORBIDDEN,
    FORBIDDEN_HOSTS,
    IMPOSSIBLE,
    PERMITTED,
    POSSIBLE,
    RESTRICTED,
    UNREACHED,
    Json,
)
from tests.admission.test_rules import _OVERLAYS
from tests.crds.manifests import changed, minimal
from tests.golden.test_golden import rendered
from tests.golden.test_server_validity import WITHOUT_PROFILE
from tests.golden.variants import VARIANTS
from tests.support.namespaces import Namespace

ALL = [*FORBIDDEN, *FORBIDDEN_HOSTS]
NFS = {"nfs": {"server": "nfs", "path": "/"}}
HOST = {"hostPath": {"path": "/"}}


def log_set(overlay: Json, name: str = "mo") -> Json:
    found = minimal("LogSet", name)
    found["metadata"]["namespace"] = "prod"
    return {**found, "spec": {**found["spec"], "overlay": overlay}}


def fields(resource: Json, level: Level) -> list[str]:
    return [mistake.field for mistake in kinds.refusals(resource, None, level)]


def template_of(resource: Json) -> Json:
    (workload,) = [
        one for one in render_logset(resource, start_script="") if one["kind"] == "StatefulSet"
    ]
    return workload["spec"]["template"]


@pytest.mark.parametrize(("overlay", "level", "field"), ALL)
def test_what_a_level_forbids_is_refused(overlay: Json, level: str, field: str) -> None:
    lowest = Level[level.upper()]
    for one in Level:
        expected = [f"spec.overlay.{field}"] if one >= lowest else []
        found = fields(log_set(overlay), one)
        assert [path for path in found if path == f"spec.overlay.{field}"] == expected
        assert bool(found) == (one >= lowest) or one > lowest


@pytest.mark.parametrize("overlay", PERMITTED)
def test_what_every_level_permits_is_not_refused(overlay: Json) -> None:
    assert [fields(log_set(overlay), level) for level in Level] == [[], [], []]


@pytest.mark.parametrize(
    ("overlay", "level", "field"), [case for case in ALL if case[2] not in UNREACHED]
)
def test_the_overlay_and_its_pods_are_refused_alike(overlay: Json, level: str, field: str) -> None:
    """What reaches the Pods is found in them, too, should it come from elsewhere."""
    template = template_of(log_set(overlay))
    assert list(pod_mistakes("Pod", template, Level[level.upper()]))


@pytest.mark.parametrize("field", sorted(UNREACHED))
def test_an_overlay_cannot_ask_for_namespaces_of_the_host(field: str) -> None:
    assert field not in template_of(log_set({field: True}))["spec"]


@settings(max_examples=200, deadline=None)
@given(_OVERLAYS)
def test_no_overlay_gets_past_the_rules(overlay: Any) -> None:
    """Whatever an overlay holds: Pods beyond the level are refused with it, and nothing crashes."""
    subject = log_set(overlay)
    plan = kinds.kind_of(subject).plan(subject, {}, Play())
    for one in plan.objects:
        if one["kind"] == "StatefulSet":
            assert not list(pod_mistakes("Pod", one["spec"]["template"], Level.RESTRICTED))


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in WITHOUT_PROFILE])
def test_what_the_operator_renders_by_itself_is_restricted(name: str) -> None:
    for one in rendered(name):
        if one["kind"] in ("StatefulSet", "Deployment"):
            assert not list(pod_mistakes("Pod", one["spec"]["template"], Level.RESTRICTED))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("MatrixOneCluster", "spec.logService.sharedStorage.fileSystem.volume"),
        ("LogSet", "spec.sharedStorage.fileSystem.volume"),
    ],
)
def test_shared_storage_is_no_way_to_the_node(kind: str, path: str) -> None:
    parent = path.removesuffix(".fileSystem.volume")
    for volume, source, level in ((HOST, "hostPath", Level.BASELINE), (NFS, "nfs", None)):
        file_system = {"fileSystem": {"path": "/shared", "volume": volume}}
        resource = changed(minimal(kind), {parent: file_system})
        assert fields(resource, Level.RESTRICTED) == [f"{path}.{source}"]
        assert fields(resource, Level.BASELINE) == ([f"{path}.{source}"] if level else [])
        assert fields(resource, Level.PRIVILEGED) == []


EXTERNAL = {
    "hakeeperEndpoint": "a:1",
    "sharedStorage": {"fileSystem": {"path": "/shared", "volume": HOST}},
}


def test_the_log_service_of_a_pool_is_checked_as_that_of_its_sets() -> None:
    resource = changed(minimal("CNPool"), {"spec.deps": {"externalLogSet": EXTERNAL}})
    path = "spec.deps.externalLogSet.sharedStorage.fileSystem"
    assert fields(resource, Level.BASELINE) == [f"{path}.volume.hostPath"]
    nowhere = {**EXTERNAL, "sharedStorage": {"fileSystem": {"path": "/shared"}}}
    resource = changed(minimal("CNPool"), {"spec.deps": {"externalLogSet": nowhere}})
    assert fields(resource, Level.PRIVILEGED) == [path]


def test_external_log_services_and_sidecars_are_checked() -> None:
    overlay = {"mainContainerSecurityContext": {"privileged": True}}
    resource = changed(
        minimal("CNSet"),
        {
            "deps": {"externalLogSet": EXTERNAL},
            "spec.pythonUdfSidecar": {"enabled": True, "overlay": overlay},
        },
    )
    assert fields(resource, Level.BASELINE) == [
        "spec.pythonUdfSidecar.overlay.mainContainerSecurityContext.privileged",
        "deps.externalLogSet.sharedStorage.fileSystem.volume.hostPath",
    ]


def test_a_set_takes_no_volume_from_the_log_set_it_refers_to() -> None:
    """The other resource may have been stored before there were rules."""
    storage = {"fileSystem": {"path": "/shared", "volume": HOST}}
    other = changed(log_set({}), {"spec.sharedStorage": storage})
    other["metadata"] |= {"uid": "1", "generation": 1}
    other["status"] = {
        "conditions": [
            {"type": kind, "status": "True", "observedGeneration": 1}
            for kind in ("Ready", "Synced")
        ]
    }
    subject = minimal("ProxySet")
    subject["metadata"]["namespace"] = "prod"
    subject["deps"]["logSet"]["metadata"]["namespace"] = "prod"
    kind = kinds.kind_of(subject)
    plan = kind.plan(subject, {"logSet": other}, Play())
    assert "Deployment/mo-proxy.spec.volumes" in plan.invalid
    assert plan.objects == ()
    assert kind.plan(subject, {"logSet": other}, Play(level=Level.PRIVILEGED)).invalid == ""


def test_the_operator_decides_and_not_the_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = log_set({"securityContext": {}})
    request = {"operation": "CREATE", "old": None}
    monkeypatch.delenv(VARIABLE, raising=False)
    (first, *_) = admission(resource, request)["errors"]
    assert first["field"] == "spec.overlay.securityContext.runAsNonRoot"
    assert first["message"] == f"must be true: Pods must meet the level restricted ({VARIABLE})"
    assert plan_for(resource, {})["invalid"].startswith(f"{first['field']}: {first['message']}")
    monkeypatch.setenv(VARIABLE, "baseline")
    assert admission(resource, request)["errors"] == []
    assert plan_for(resource, {})["invalid"] == ""
    monkeypatch.setenv(VARIABLE, "open")
    with pytest.raises(AnsibleFilterError, match="must be one of restricted, baseline, privileged"):
        plan_for(resource, {})


def test_what_is_stored_may_stay_at_admission() -> None:
    """A label or a finalizer can be changed; what is new must meet the level."""
    old = log_set({"mainContainerSecurityContext": {"privileged": True}})
    assert kinds.refusals(changed(old, {"spec.replicas": 5}), old) == []
    worse = changed(old, {"spec.overlay.hostNetwork": True})
    assert [one.field for one in kinds.refusals(worse, old)] == ["spec.overlay.hostNetwork"]


@pytest.mark.parametrize("word", ["", " ", "restricted", "restricted "])
def test_the_level_is_restricted_by_default(word: str) -> None:
    assert level_of({VARIABLE: word} if word else {}) is Level.RESTRICTED


@pytest.fixture(scope="module")
def spaces(fake_testbed: TestBed) -> Iterator[dict[Level, Namespace]]:
    """Namespaces in which Kubernetes itself enforces the levels."""
    with (
        fake_testbed.namespace("restricted") as one,
        fake_testbed.namespace("baseline") as two,
    ):
        found = {Level.RESTRICTED: Namespace(fake_testbed, one)}
        found[Level.BASELINE] = Namespace(fake_testbed, two)
        for level, space in found.items():
            label = f"pod-security.kubernetes.io/enforce={level.name.lower()}"
            fake_testbed.kubectl("label", "namespace", space.name, label)
        yield found


def _kubernetes_says(space: Namespace, overlay: Json) -> str:
    template = copy.deepcopy(template_of(log_set(overlay)))
    template["spec"]["volumes"].append({"name": "mo-data", "emptyDir": {}})
    metadata = {**template["metadata"], "name": "mo", "namespace": space.name}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    pod["spec"].pop("serviceAccountName", None)
    try:
        space.api.apply(json.loads(json.dumps(pod)), dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.api
@pytest.mark.parametrize(("overlay", "level", "field"), POSSIBLE)
def test_kubernetes_forbids_what_is_forbidden_here(
    spaces: dict[Level, Namespace], overlay: Json, level: str, field: str
) -> None:
    said = _kubernetes_says(spaces[Level.RESTRICTED], overlay)
    assert "PodSecurity" in said, field
    said = _kubernetes_says(spaces[Level.BASELINE], overlay)
    assert ("PodSecurity" in said) == (level != RESTRICTED), said


@pytest.mark.api
@pytest.mark.parametrize("field", sorted(IMPOSSIBLE))
def test_kubernetes_knows_no_such_pod(spaces: dict[Level, Namespace], field: str) -> None:
    (overlay,) = [case[0] for case in FORBIDDEN if case[2] == field]
    assert "Invalid value" in _kubernetes_says(spaces[Level.RESTRICTED], overlay)


@pytest.mark.api
@pytest.mark.parametrize("overlay", PERMITTED)
def test_kubernetes_permits_what_is_permitted_here(
    spaces: dict[Level, Namespace], overlay: Json
) -> None:
    for space in spaces.values():
        assert _kubernetes_says(space, overlay) == ""
