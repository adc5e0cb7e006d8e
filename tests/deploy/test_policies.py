# SPDX-License-Identifier: Apache-2.0
"""The admission policy refuses workloads of databases beyond the level, whoever creates them."""

import copy
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.rendering import (
    render_logset,
)

from testbed.api import ApiError
from testbed.bed import TestBed
from tests.admission.security_cases import FORBIDDEN, PERMITTED, POSSIBLE, RESTRICTED
from tests.admission.test_pod_security import log_set
from tests.support.namespaces import Namespace
from tests.support.places import ROOT
from tests.support.waiting import eventually

Json = dict[str, Any]
POLICY = ROOT / "deploy" / "policies" / "pod-security.yaml"
LEVELS = ("restricted", "baseline")
KINDS = "validatingadmissionpolicy,validatingadmissionpolicybinding"


@pytest.fixture(scope="module")
def spaces(fake_testbed: TestBed) -> Iterator[dict[str, Namespace]]:
    """One namespace for each level of the policy, and one without a policy."""
    with (
        fake_testbed.namespace("restricted") as one,
        fake_testbed.namespace("baseline") as two,
        fake_testbed.namespace("free") as three,
    ):
        found = {
            level: Namespace(fake_testbed, name)
            for level, name in zip((*LEVELS, "free"), (one, two, three), strict=True)
        }
        try:
            for level in LEVELS:
                _install(found[level], level)
            for level in LEVELS:
                eventually(lambda space=found[level]: _said(space, FORBIDDEN[0][0]), 60)
            yield found
        finally:
            for level in LEVELS:
                fake_testbed.kubectl("delete", KINDS, found[level].name, "--ignore-not-found")


def _install(space: Namespace, level: str) -> None:
    """Apply the policy for one namespace, so that levels can be tested side by side."""
    policy, binding = yaml.safe_load_all(POLICY.read_text())
    policy["metadata"]["name"] = binding["metadata"]["name"] = space.name
    binding["spec"]["policyName"] = space.name
    binding["spec"]["matchResources"] = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space.name}}
    }
    (restricted,) = [one for one in policy["spec"]["variables"] if one["name"] == "restricted"]
    restricted["expression"] = str(level == RESTRICTED).lower()
    space.api.apply(policy)
    space.api.apply(binding)


def _workload(space: Namespace, overlay: Json) -> Json:
    resource = log_set(overlay)
    resource["metadata"]["namespace"] = space.name
    objects = render_logset(resource, start_script="")
    (found,) = [one for one in objects if one["kind"] == "StatefulSet"]
    owner = {"apiVersion": "core.matrixorigin.io/v1alpha1", "kind": "LogSet", "name": "mo"}
    metadata = {**found["metadata"], "ownerReferences": [{**owner, "uid": str(uuid.uuid4())}]}
    return copy.deepcopy({**found, "metadata": metadata})


def _said(space: Namespace, overlay: Json, **changes: Any) -> str:
    workload = _workload(space, overlay)
    workload["metadata"] |= changes
    try:
        space.api.apply(workload, dry_run=True, force=True)
    except ApiError as error:
        return str(error)
    return ""


@pytest.mark.api
@pytest.mark.parametrize(("overlay", "level", "field"), POSSIBLE)
def test_what_a_level_forbids_is_refused(
    spaces: dict[str, Namespace], overlay: Json, level: str, field: str
) -> None:
    said = {level: _said(spaces[level], overlay) for level in LEVELS}
    assert "of a database must" in said[RESTRICTED], field
    assert ("of a database must" in said["baseline"]) == (level != RESTRICTED)


@pytest.mark.api
@pytest.mark.parametrize("overlay", PERMITTED)
def test_what_every_level_permits_is_not_refused(
    spaces: dict[str, Namespace], overlay: Json
) -> None:
    assert [_said(spaces[level], overlay) for level in LEVELS] == ["", ""]


@pytest.mark.api
def test_workloads_of_others_are_none_of_its_business(spaces: dict[str, Namespace]) -> None:
    (overlay, _, _) = FORBIDDEN[0]
    assert _said(spaces[RESTRICTED], overlay, ownerReferences=[]) == ""
    assert _said(spaces["free"], overlay) == ""


@pytest.mark.api
def test_what_runs_already_can_be_scaled_and_not_rolled(spaces: dict[str, Namespace]) -> None:
    """A database that is older than the policy stays as it is, until its Pods change."""
    space, (overlay, _, _) = spaces[RESTRICTED], FORBIDDEN[0]
    old = _workload(space, overlay)
    old["metadata"]["name"] = "older"
    owners = old["metadata"].pop("ownerReferences")
    space.api.apply(old)
    old["metadata"]["ownerReferences"] = owners
    old["spec"]["replicas"] = 0
    space.api.apply(old, force=True)
    old["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    with pytest.raises(ApiError, match="must not mount directories of the node"):
        space.api.apply(old, force=True)
