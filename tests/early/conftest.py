# SPDX-License-Identifier: Apache-2.0
"""The operator as a process, and a namespace with what it makes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.early.resources import KIND, Json
from tests.support.namespaces import Namespace
from tests.support.operators import running_operator
from tests.support.waiting import eventually

MADE = "statefulset,service,configmap,pvc,pod,networkpolicy"


class Space:
    """A namespace and what is in it."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name
        self._inside = Namespace(bed, name)

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self._inside.kubectl(*arguments, **how)

    def apply(self, resource: Json) -> None:
        placed = {**resource, "metadata": {**resource["metadata"], "namespace": self.name}}
        self._inside.apply(placed)

    def patch(self, name: str, **spec: Any) -> None:
        self._inside.patch(KIND, name, {"spec": spec})

    def get(self, kind: str, name: str) -> Json:
        return self._inside.get(kind, name)

    def cluster(self, name: str) -> Json:
        return self.get(KIND, name)

    def named(self, name: str, kinds: str = MADE) -> set[str]:
        """Return the short names of what carries the label of a MatrixoneCluster."""
        found = self._inside.names(kinds, f"matrixone_cr={name}")
        return {one.replace(".apps", "").replace(".networking.k8s.io", "") for one in found}

    def condition(self, name: str, wanted: str) -> Json:
        return self._inside.condition(KIND, name, wanted)

    def wait(self, name: str, condition: str = "Ready", seconds: float = 60) -> None:
        self._inside.wait(condition, KIND, name, seconds)

    def settled(self, name: str) -> Json:
        """Wait until the present generation is applied everywhere, and return the object."""

        def look() -> Json:
            found = self.cluster(name)
            status = found.get("status") or {}
            synced = [one for one in status.get("conditions") or [] if one["type"] == "Synced"]
            now = status.get("observedGeneration") == found.get("metadata", {}).get("generation")
            return found if now and synced and synced[0]["status"] == "True" else {}

        return eventually(look)

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Return type, reason and note of the Events about a MatrixoneCluster, oldest first."""
        mine = [
            one
            for one in self._inside.events()
            if one["regarding"].get("kind") == "MatrixoneCluster"
            and one["regarding"]["name"] == name
            and one["reportingController"] != "ansible-operator"  # that a run has failed
        ]
        assert {one["reportingController"] for one in mine} <= {"matrixone-operator"}
        return [(one["type"], one["reason"], one["note"]) for one in mine]

    def reasons(self, name: str) -> list[str]:
        return [reason for _, reason, _ in self.events(name)]

    def touch(self, name: str) -> None:
        """Ask for a pass."""
        self._inside.annotate(KIND, name, **{"test/touched": str(time.monotonic())})


def claims(space: Space, name: str) -> set[str]:
    """Return the names of the claims of a MatrixoneCluster."""
    return {one.partition("/")[2] for one in space.named(name, "pvc")}


def uid_of(one: Json) -> str:
    """Return what tells an object from a namesake."""
    return str(one["metadata"]["uid"])


def passes(log: Path) -> int:
    """Return how many passes an operator has ended."""
    return log.read_text().count("exited successfully")


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Space]:
    """A namespace of the module's own."""
    with installed_testbed.namespace("early") as name:
        yield Space(installed_testbed, name)


@pytest.fixture(scope="module")
def operator(space: Space, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The operator for the module's namespace."""
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = space.bed.kubeconfig
    with running_operator(kubeconfig, folder, WATCH_NAMESPACE=space.name) as log:
        yield log


@pytest.fixture
def made(
    space: Space, operator: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Json]]:
    """Return a function that makes a MatrixoneCluster; all of them go at the end of the test."""
    names: list[str] = []

    def make(resource: Json, *, wait: bool = True) -> Json:
        name = resource["metadata"]["name"]
        names.append(name)
        space.apply(resource)
        return space.settled(name) if wait else space.cluster(name)

    yield make
    if names:
        space.kubectl("delete", KIND, *names, "--ignore-not-found", "--timeout=60s")
        space.kubectl("delete", "pvc", "--all", "--wait=false")
