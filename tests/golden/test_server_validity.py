# SPDX-License-Identifier: Apache-2.0
"""A real API server accepts what is rendered, and its restricted Pod security profile too."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
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

from dev.render import to_yaml
from testbed.bed import KubectlError, TestBed
from tests.golden.test_golden import rendered
from tests.golden.variants import VARIANTS
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


def golden(name: str, namespace: str) -> str:
    """Return a golden file as text, moved to another namespace."""
    return re.sub(r"\bprod\b", namespace, to_yaml(rendered(name)))


def dry_run(cluster: TestBed, text: str) -> list[str]:
    """Apply objects on the server without keeping them; return what it says of each."""
    output = cluster.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        input=text,
    )
    return output.splitlines()


@pytest.mark.parametrize("name", VARIANTS)
def test_server_accepts_every_manifest(cluster: TestBed, namespace: str, name: str) -> None:
    text = golden(name, namespace)
    said = dry_run(cluster, text)
    assert len(said) == len(list(yaml.safe_load_all(text)))
    assert all(line.endswith("serverside-applied (server dry run)") for line in said)


@pytest.mark.parametrize("name", VARIANTS)
def test_what_was_applied_is_known_by_its_managed_fields(
    cluster: TestBed, namespace: str, name: str
) -> None:
    """And no object with a field less, or another value, is taken for it."""
    wanted = list(yaml.safe_load_all(golden(name, namespace)))
    answered = cluster.kubectl(
        *("apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json"),
        *("--show-managed-fields", f"--field-manager={MANAGER}"),
        input=golden(name, namespace),
    )
    found = json.loads(answered)
    live = found["items"] if len(wanted) > 1 else [found]

    assert len(wanted) == len(live)
    for ours, theirs in zip(wanted, live, strict=True):
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
    cluster: TestBed, namespace: str, name: str
) -> None:
    """A field less, too, which nobody sees who only compares what is rendered; no default is."""
    answered = cluster.kubectl(
        *("apply", "--server-side", "--dry-run=server", "-f", "-", "-o", "json"),
        *("--show-managed-fields", f"--field-manager={MANAGER}"),
        input=golden(name, namespace),
    )
    wanted = [
        one
        for one in yaml.safe_load_all(golden(name, namespace))
        if "template" in one.get("spec", {})
    ]
    found = {one["kind"]: one for one in json.loads(answered)["items"]}

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
def test_pods_are_admitted_by_the_restricted_profile(
    cluster: TestBed, namespace: str, name: str
) -> None:
    pods = []
    for workload in yaml.safe_load_all(golden(name, namespace)):
        if workload["kind"] not in ("StatefulSet", "Deployment"):
            continue
        template = workload["spec"]["template"]
        metadata = {**template["metadata"], "name": workload["metadata"]["name"]}
        spec = json.loads(json.dumps(template["spec"]))
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
    assert len(dry_run(cluster, to_yaml(pods))) == len(pods)


def test_profile_is_really_enforced(cluster: TestBed, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "loose", "namespace": namespace},
        "spec": {"containers": [{"name": names.CONTAINER_MAIN, "image": "i"}]},
    }
    with pytest.raises(KubectlError, match="violates PodSecurity"):
        dry_run(cluster, to_yaml([pod]))
