# SPDX-License-Identifier: Apache-2.0
"""The whole binary as a subprocess, against a real API server."""

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.support.api import Api, holds
from tests.support.namespaces import Namespace
from tests.support.operators import Operator, launch
from tests.support.waiting import eventually

PROJECT = Path(__file__).with_name("project")
KINDS = {
    "memcacheds.runner.example.com": "Memcached",
    "probes.runner.example.com": "Probe",
    "slows.runner.example.com": "Slow",
    "partings.runner.example.com": "Parting",
    "typos.runner.example.com": "Typo",
    "selecteds.runner.example.com": "Selected",
    "selecteds.other.example.com": "Selected",
}
ADVANCED = {
    f"{kind.lower()}s.test.example.com": kind
    for kind in (
        "ArgsTest",
        "CaseTest",
        "CollectionTest",
        "ClusterAnnotationTest",
        "FinalizerConcurrencyTest",
        "InventoryTest",
        "GlobalTest",
        "ReportTest",
        "ReconciliationTest",
        "SecretiveTest",
    )
}


def definition(name: str, kind: str) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    untyped = {"x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": untyped},
            }
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Cluster" if kind == "GlobalTest" else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


def fetch(port: int, path: str, body: bytes | None = None) -> tuple[int, str]:
    """Status and text of an answer; 0 while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


class Cluster(Namespace):
    """Objects of a namespace that an operator watches."""

    def create(self, kind: str, name: str, spec: Any, **metadata: Any) -> None:
        """Create or change an object of a kind that is defined here."""
        groups = {"Follower": "other.example.com"} | dict.fromkeys(
            ADVANCED.values(), "test.example.com"
        )
        obj = {
            "apiVersion": f"{groups.get(kind, 'runner.example.com')}/v1alpha1",
            "kind": "Selected" if kind == "Follower" else kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        self.apply(obj)

    def wait_for(self, resource: str, name: str, condition: str, status: str = "True") -> Any:
        """The condition once it has this status."""

        def look() -> Any:
            found = self.condition(resource, name, condition)
            return found if found.get("status") == status else None

        return eventually(look, what=f"{condition}={status} of {resource} {name}")

    def release(self, resource: str) -> None:
        """Remove the finalizers, for which there is no operator any longer."""
        for one in self.listed(resource):
            self.patch(resource, one["metadata"]["name"], {"metadata": {"finalizers": None}})


def define(bed: TestBed, kinds: Mapping[str, str] = KINDS | ADVANCED) -> None:
    """Make kinds known, those that most of these tests use unless others are named."""
    items = [definition(name, kind) for name, kind in kinds.items()]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    # Workers of xdist do this side by side.
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(listed))
    api = Api(bed.kubeconfig)
    for name in kinds:
        eventually(lambda crd=name: holds(api.get("crd", "", crd), "Established"), what=name)


def start_in(
    bed: TestBed, folder: Path, namespaces: str, *flags: str, project: Path, **environment: str
) -> Operator:
    """Start an operator that watches namespaces, with commas between; its files are in a folder."""
    copy = folder / "project"
    shutil.copytree(project, copy)
    variables = {"WATCH_NAMESPACE": namespaces, **environment}
    flags = ("--zap-log-level=debug", *flags)
    return launch(bed.kubeconfig, folder, *flags, project=copy, variables=variables)


@pytest.fixture(scope="session")
def definitions(fake_testbed: TestBed) -> TestBed:
    define(fake_testbed)
    return fake_testbed


Start = Callable[..., Operator]


@contextmanager
def starting(bed: TestBed, folders: pytest.TempPathFactory) -> Iterator[Start]:
    """Give a function that starts operators, each of which watches namespaces; end them all."""
    started: list[Operator] = []

    def run(namespaces: str, *flags: str, project: Path = PROJECT, **environment: str) -> Operator:
        folder = folders.mktemp("operator")
        started.append(start_in(bed, folder, namespaces, *flags, project=project, **environment))
        return started[-1]

    try:
        yield run
    finally:
        for operator in started:
            operator.kill()


@pytest.fixture
def start(definitions: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts operators, which end with the test."""
    with starting(definitions, tmp_path_factory) as run:
        yield run


@pytest.fixture(scope="module")
def start_shared(definitions: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts operators that the tests of a module share."""
    with starting(definitions, tmp_path_factory) as run:
        yield run


@pytest.fixture(scope="module")
def cluster(definitions: TestBed) -> Iterator[Cluster]:
    with definitions.namespace("operator") as namespace:
        made = Cluster(definitions, namespace)
        yield made
        made.release("memcacheds.runner.example.com")


@pytest.fixture(scope="module")
def operator(start_shared: Start, cluster: Cluster) -> Operator:
    return start_shared(cluster.name)
