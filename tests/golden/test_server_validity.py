# SPDX-License-Identifier: Apache-2.0
"""A real API server accepts what is rendered, and its restricted Pod security profile too."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.editing import (
    FIELD_MANAGER as MANAGER,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.managed import (
    is_applied,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.gates import (
    held_back,
)

from testbed.api import ApiError
from testbed.bed import TestBed
from tests.golden.test_golden import rendered
from tests.golden.variants import VARIANTS
from tests.support.api import Api, Json
from tests.support.places import ROOT

pytestmark = pytest.mark.api

WITHOUT_PROFILE = (
    "logset-overlay",
    "cnset-overlay",
    "cnset-file-system-external",
    "early-image",
)
"""Variants whose users bring what the profile does not admit: containers without a security
context, storage that is mounted over NFS without a claim, and images that start by themselves."""


@pytest.fixture(scope="module")
def cluster(fake_testbed: TestBed) -> TestBed:
    """Return a test bed with our CRDs and what the variants refer to."""
    fake_testbed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    runtime = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "gvisor"},
        "handler": "runsc",
    }
    fake_testbed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(runtime))
    return fake_testbed


@pytest.fixture(scope="module")
def namespace(cluster: TestBed) -> Iterator[str]:
    """Return a namespace that refuses Pods outside of the restricted profile."""
    with cluster.namespace() as name:
        profile = "pod-security.kubernetes.io/enforce=restricted"
        cluster.kubectl("label", "namespace", name, profile)
        cluster.kubectl("create", "serviceaccount", "robot", "--namespace", name)
        yield name


@pytest.fixture(scope="module")
def api(cluster: TestBed) -> Api:
    return Api(cluster.kubeconfig)


def golden(name: str, namespace: str) -> list[Json]:
    """Return the objects of a golden file, moved to another namespace."""
    moved: list[Json] = json.loads(re.sub(r"\bprod\b", namespace, json.dumps(rendered(name))))
    return moved


def dry_run(api: Api, objects: list[Json]) -> list[Json]:
    """Apply objects on the server without keeping them; return what it would keep.

    Raises:
        ApiError: it refuses one of them.
    """
    return [api.apply(one, dry_run=True, manager=MANAGER) for one in objects]


@pytest.fixture(scope="module")
def accepted(api: Api, namespace: str) -> Callable[[str], list[Json]]:
    """Return a function that tells what the server would keep of a golden file."""
    return cache(lambda name: dry_run(api, golden(name, namespace)))


@pytest.mark.parametrize("name", VARIANTS)
def test_server_accepts_every_manifest(
    accepted: Callable[[str], list[Json]], namespace: str, name: str
) -> None:
    wanted = [one["metadata"]["name"] for one in golden(name, namespace)]
    assert [one["metadata"]["name"] for one in accepted(name)] == wanted


@pytest.mark.parametrize("name", VARIANTS)
def test_what_was_applied_is_known_by_its_managed_fields(
    accepted: Callable[[str], list[Json]], namespace: str, name: str
) -> None:
    """And no object with a field less, or another value, is taken for it."""
    for ours, theirs in zip(golden(name, namespace), accepted(name), strict=True):
        assert is_applied(theirs, ours, MANAGER), ours
        assert not is_applied(theirs, ours, "somebody")
        identity = {key: ours.pop(key) for key in ("apiVersion", "kind")}
        place = {key: ours["metadata"].pop(key) for key in ("name", "namespace")}
        for other in variations(ours):
            metadata = {**other.get("metadata", {}), **place}
            assert not is_applied(theirs, {**identity, **other, "metadata": metadata}, MANAGER), (
                other
            )


@pytest.mark.parametrize(
    "name", ["logset-overlay", "cnset-overlay", "cnset-python", "dnset-external"]
)
def test_every_change_of_a_template_is_held_back(
    accepted: Callable[[str], list[Json]], namespace: str, name: str
) -> None:
    """A field less, too, which nobody sees who only compares what is rendered; no default is."""
    wanted = [one for one in golden(name, namespace) if "template" in one.get("spec", {})]
    found = {one["kind"]: one for one in accepted(name)}

    assert wanted
    for ours in wanted:
        theirs = found[ours["kind"]]
        assert held_back(theirs, ours) == []
        for other in variations(ours["spec"]["template"]):
            assert held_back(theirs, {"spec": {"template": other}}), other


def variations(wanted: Any) -> Iterator[Any]:
    """Yield a manifest over and over, each time with one thing in it left out, or changed."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            if (name, value) != ("apiVersion", "v1"):  # the default of a fieldRef
                yield {key: kept for key, kept in wanted.items() if key != name}
            yield from ({**wanted, name: other} for other in variations(value))
    elif isinstance(wanted, list):
        for at, value in enumerate(wanted):
            yield wanted[:at] + wanted[at + 1 :]
            yield from ([*wanted[:at], other, *wanted[at + 1 :]] for other in variations(value))
    else:
        yield not wanted if isinstance(wanted, bool) else f"{wanted}?"


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in WITHOUT_PROFILE])
def test_pods_are_admitted_by_the_restricted_profile(api: Api, namespace: str, name: str) -> None:
    pods = []
    for workload in golden(name, namespace):
        if workload["kind"] not in ("StatefulSet", "Deployment"):
            continue
        template = workload["spec"]["template"]
        metadata = {**template["metadata"], "name": workload["metadata"]["name"]}
        spec = template["spec"]
        for claim in workload["spec"].get("volumeClaimTemplates", []):
            volume = {"name": claim["metadata"]["name"], "emptyDir": {}}
            spec["volumes"].append(volume)
        pods.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {**metadata, "namespace": namespace},
                "spec": spec,
            }
        )
    assert pods
    assert len(dry_run(api, pods)) == len(pods)


def test_profile_is_really_enforced(api: Api, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "loose", "namespace": namespace},
        "spec": {"containers": [{"name": names.CONTAINER_MAIN, "image": "i"}]},
    }
    with pytest.raises(ApiError, match="violates PodSecurity"):
        dry_run(api, [pod])
