# SPDX-License-Identifier: Apache-2.0
"""What the admission function says, and that a real API server agrees with it."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.filter.admission import admission
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    Level,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.rendering import (
    render_logset,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crds.generate.sources import Sources
from testbed.api import ApiError
from testbed.bed import TestBed
from tests.admission.cases import (
    ACCEPTED_OVERLAYS,
    REFUSED,
    REFUSED_OVERLAYS,
    RETENTION,
    S3_POLICY,
    STEPS,
    UPDATES,
    WARNINGS,
    Json,
)
from tests.crds.manifests import changed, minimal
from tests.support.namespaces import Namespace
from tests.support.passes import (
    plan_of,
)
from tests.support.places import ROOT

KINDS = [kind.name for kind in Sources(ROOT / "crds" / "schema").kinds()]


def log_set(overlay: Json) -> Json:
    return {**minimal("LogSet"), "spec": {**minimal("LogSet")["spec"], "overlay": overlay}}


def said(resource: Json) -> list[str]:
    found = kinds.kind_of(resource).judge.refuses(resource, Level.PRIVILEGED)
    return [str(mistake) for mistake in found]


@pytest.mark.parametrize(("overlay", "message"), REFUSED_OVERLAYS)
def test_overlays_that_no_pod_can_have(overlay: Json, message: str) -> None:
    """One mistake is one message, which begins with the field that users wrote."""
    (found,) = said(log_set(overlay))
    assert found.startswith(f"spec.overlay.{message}")


@pytest.mark.parametrize("overlay", ACCEPTED_OVERLAYS)
def test_overlays_that_pods_can_have(overlay: Json) -> None:
    assert said(log_set(overlay)) == []


@pytest.mark.parametrize(("kind", "changes", "message"), REFUSED)
def test_unusable_resources(kind: str, changes: Json, message: str) -> None:
    (found,) = said(changed(minimal(kind), changes))
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("kind", "path"), [("DNSet", "spec.replicas"), ("MatrixOneCluster", "spec.tn.replicas")]
)
def test_a_second_transaction_node_is_refused_in_playbooks_too(kind: str, path: str) -> None:
    """Where no API server sees the resource, the CRD's rule does not hold."""
    (found,) = said(changed(minimal(kind), {path: 2}))
    assert found.startswith(f"{path}: MatrixOne supports only one transaction node")


@pytest.mark.parametrize("kind", KINDS)
def test_usable_resources(kind: str) -> None:
    assert said(minimal(kind)) == []


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda f: f.stem)
def test_examples(file: Any) -> None:
    for resource in yaml.safe_load_all(file.read_text()):
        if resource and resource["kind"] in KINDS:
            assert said(resource) == []
            kept = not file.stem.startswith(("tiny-", "playground"))
            assert bool(kinds.warnings_of(resource)) != kept
            assert bool(kinds.kind_of(resource).judge.warns_of_deletion(resource)) != kept


@pytest.mark.parametrize(("kind", "before", "after", "message"), UPDATES)
def test_old_mistakes_may_stay(kind: str, before: Json, after: Json, message: str) -> None:
    """As with rules in CEL: what is wrong already is told only when it is touched."""
    old = changed(minimal(kind), before)
    found = kinds.refusals(changed(old, after), old)
    assert [str(one)[: len(message)] for one in found] == ([message] if message else [])


@pytest.mark.parametrize(("kind", "changes", "part"), WARNINGS)
def test_warnings(kind: str, changes: Json, part: str) -> None:
    resource = changed(minimal(kind), changes)
    assert said(resource) == []
    (warning,) = besides_retention(kinds.warnings_of(resource))
    assert part in warning


def besides_retention(warnings: list[str]) -> list[str]:
    """Leave out what minimal resources are warned of: their data are deleted with them."""
    return [one for one in warnings if "RetentionPolicy: Delete" not in one]


@pytest.mark.parametrize(("kind", "path", "before", "after", "parts"), RETENTION)
def test_who_may_lose_data_is_warned(
    kind: str, path: str, before: Json | None, after: Json, parts: list[str]
) -> None:
    """When something that deletes volumes is created, or becomes so; once, and not for nothing."""
    old = None if before is None else changed(minimal(kind), before)
    found = kinds.warnings_of(changed(minimal(kind), after), old)

    assert len(found) == len(parts)
    for warning, part in zip(found, parts, strict=True):
        assert warning.startswith(f"{path}.")
        assert part in warning


@pytest.mark.parametrize(
    ("kind", "changes", "parts"),
    [
        (
            "LogSet",
            {},
            ["volumes of the log service are deleted", "objects in bucket/mo are deleted"],
        ),
        ("LogSet", {"spec.pvcRetentionPolicy": "Retain"}, []),
        ("LogSet", {S3_POLICY: "Retain"}, []),
        (
            "LogSet",
            {"spec.sharedStorage": {"fileSystem": {"path": "/a"}}},
            ["volumes of the log service are deleted"],
        ),
        (
            "MatrixOneCluster",
            {},
            ["volumes of the log service are deleted", "objects in bucket/mo are deleted"],
        ),
        ("MatrixOneCluster", {"spec.logService.pvcRetentionPolicy": "Retain"}, []),
        *((kind, {}, []) for kind in ("DNSet", "CNSet", "ProxySet", "WebUI")),
    ],
)
def test_who_deletes_data_is_warned(kind: str, changes: Json, parts: list[str]) -> None:
    """A deletion is never refused, whatever is wrong with the resource."""
    doomed = changed(minimal(kind), {**changes, "spec.config": "no TOML"})

    answer = admission(doomed, {"operation": "DELETE", "old": doomed})

    assert answer["errors"] == []
    assert [part in one for one, part in zip(answer["warnings"], parts, strict=True)] == [
        True for _part in parts
    ]


def test_the_parts_of_a_cluster_repeat_no_warning() -> None:
    """Its user has been warned; these are created and deleted by the operator."""
    owners = [{"kind": "MatrixOneCluster", "name": "mo", "uid": "u", "controller": True}]
    part = changed(minimal("LogSet"), {"metadata.ownerReferences": owners})

    assert kinds.warnings_of(part) == []
    assert kinds.kind_of(part).judge.warns_of_deletion(part) == []


@pytest.mark.parametrize(("before", "after", "part"), STEPS)
def test_a_step_back_is_told_and_not_refused(before: Json, after: Json, part: str) -> None:
    old = changed(minimal("MatrixOneCluster"), before)
    new = changed(old, after)
    assert kinds.refusals(new, old) == []
    warnings = besides_retention(kinds.warnings_of(new, old))
    assert [part in warning for warning in warnings] == ([True] if part else [])


@pytest.mark.parametrize(
    ("kind", "changes", "message"), [case for case in REFUSED if case[0] != "MatrixOneCluster"]
)
def test_roles_refuse_with_the_same_words(kind: str, changes: Json, message: str) -> None:
    resource = changed(minimal(kind), changes)
    resource["metadata"]["namespace"] = "prod"
    plan = plan_of(resource, {}, "")
    assert plan["invalid"] == "; ".join(said(resource))
    assert plan["invalid"].startswith(message)
    assert plan["objects"] == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_FIELDS = st.sampled_from(
    ["env", "volumes", "affinity", "tolerations", "sidecarContainers", "livenessProbe", "dnsConfig",
     "podLabels", "securityContext", "volumeClaims", "name", "valueFrom", "image", "resources"]
)  # fmt: skip
_OVERLAYS = st.recursive(
    _JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(_FIELDS, _OVERLAYS, max_size=5))
def test_whatever_an_overlay_holds_there_is_an_answer(overlay: Json) -> None:
    """The overlay is open, so anything may be in it; a crash would be no refusal."""
    assert all(one.startswith("spec.overlay") for one in said(log_set(overlay)))


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Namespace]:
    with fake_testbed.namespace("admission") as name:
        yield Namespace(fake_testbed, name)


def server_says(space: Namespace, overlay: Json) -> str:
    """What the API server says to the workload of such a log service; empty when it takes it."""
    resource = log_set(overlay)
    resource["metadata"] |= {"namespace": space.name, "name": "mo"}
    (workload,) = [
        one for one in render_logset(resource, start_script="") if one["kind"] == "StatefulSet"
    ]
    try:
        space.api.apply(workload, dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.api
@pytest.mark.parametrize(("overlay", "message"), REFUSED_OVERLAYS)
def test_kubernetes_refuses_what_is_refused_here(
    space: Namespace, overlay: Json, message: str
) -> None:
    """Nothing is refused that would have worked."""
    assert server_says(space, overlay), message


@pytest.mark.api
@pytest.mark.parametrize("overlay", ACCEPTED_OVERLAYS)
def test_kubernetes_takes_what_is_accepted_here(space: Namespace, overlay: Json) -> None:
    assert server_says(space, overlay) == ""
