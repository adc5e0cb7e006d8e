# SPDX-License-Identifier: Apache-2.0
"""The operator as a process, and a namespace with what it makes."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from testbed.bed import TestBed
from tests.early.resources import KIND, ROOT, Json
from tests.support.operators import running_operator

T = TypeVar("T")
MADE = "statefulset,service,configmap,pvc,pod,networkpolicy"


def eventually(look: Callable[[], T], seconds: float = 60.0) -> T:
    """Return what ``look`` finds as soon as it finds something; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.2)
    return found


class Space:
    """A namespace and what is in it."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.name, *arguments, **how)

    def apply(self, resource: Json) -> None:
        text = json.dumps(
            {**resource, "metadata": {**resource["metadata"], "namespace": self.name}}
        )
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)

    def patch(self, name: str, **spec: Any) -> None:
        self.kubectl("patch", KIND, name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def get(self, kind: str, name: str) -> Json:
        text = self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else {}

    def cluster(self, name: str) -> Json:
        return self.get(KIND, name)

    def named(self, name: str, kinds: str = MADE) -> set[str]:
        """Return the short names of what carries the label of a MatrixoneCluster."""
        text = self.kubectl("get", kinds, "-l", f"matrixone_cr={name}", "-o", "name")
        return {
            line.replace(".apps", "").replace(".networking.k8s.io", "") for line in text.split()
        }

    def condition(self, name: str, wanted: str) -> Json:
        listed = (self.cluster(name).get("status") or {}).get("conditions") or []
        return next((one for one in listed if one["type"] == wanted), {})

    def wait(self, name: str, condition: str = "Ready", seconds: int = 60) -> None:
        """Wait as a user would."""
        subject = f"{KIND}/{name}"
        self.kubectl("wait", f"--for=condition={condition}", subject, f"--timeout={seconds}s")

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
        listed = json.loads(self.kubectl("get", "events.events.k8s.io", "-o", "json"))["items"]
        mine = [
            one
            for one in listed
            if one["regarding"].get("kind") == "MatrixoneCluster"
            and one["regarding"]["name"] == name
            and one["reportingController"] != "ansible-operator"  # that a run has failed
        ]
        mine.sort(key=lambda one: str(one["eventTime"]))
        assert {one["reportingController"] for one in mine} <= {"matrixone-operator"}
        return [(one["type"], one["reason"], one["note"]) for one in mine]

    def reasons(self, name: str) -> list[str]:
        return [reason for _, reason, _ in self.events(name)]

    def touch(self, name: str) -> None:
        """Ask for a pass."""
        mark = f"test/touched={time.monotonic()}"
        self.kubectl("annotate", KIND, name, mark, "--overwrite")


def claims(space: Space, name: str) -> set[str]:
    """Return the names of the claims of a MatrixoneCluster."""
    return {one.partition("/")[2] for one in space.named(name, "pvc")}


def uid_of(one: Json) -> str:
    """Return what tells an object from a namesake."""
    return str(one["metadata"]["uid"])


def passes(log: Path) -> int:
    """Return how many passes an operator has ended."""
    return log.read_text().count("exited successfully")


def install(bed: TestBed) -> None:
    """Install the CRDs and wait until they are served."""
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    path = "jsonpath={.status.conditions[?(@.type=='Established')].status}"
    eventually(lambda: bed.kubectl("get", "crd", KIND, "-o", path) == "True")


@pytest.fixture(scope="session")
def early_testbed(fake_testbed: TestBed) -> TestBed:
    """The test bed with our CRDs."""
    install(fake_testbed)
    return fake_testbed


@pytest.fixture(scope="module")
def space(early_testbed: TestBed) -> Iterator[Space]:
    """A namespace of the module's own."""
    with early_testbed.namespace("early") as name:
        yield Space(early_testbed, name)


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
