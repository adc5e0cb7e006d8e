# SPDX-License-Identifier: Apache-2.0
"""The whole binary as a subprocess, against a real API server."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from testbed.bed import TestBed

ROOT = Path(__file__).resolve().parents[3]
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
T = TypeVar("T")


def definition(name: str, kind: str) -> dict[str, Any]:
    plural, _, group = name.partition(".")
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": anything, "status": anything},
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


def eventually(look: Callable[[], T | None], seconds: float = 60.0) -> T:
    """What ``look`` finds, asked again until it is true; fails after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s (last: {found!r})"
        time.sleep(0.1)


def fetch(port: int, path: str, body: bytes | None = None) -> tuple[int, str]:
    """Status and text of an answer; 0 while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", body, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


@dataclass
class Operator:
    """A running ``ansible-operator run``."""

    process: subprocess.Popen[bytes]
    output: Path
    runs: Path

    def stop(self, number: signal.Signals = signal.SIGTERM, seconds: float = 40) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End the process, if it still runs, without leave."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def text(self) -> str:
        return self.output.read_text()

    def lines(self, message: str = "", **wanted: Any) -> list[dict[str, Any]]:
        """Log lines with this message and these keys."""
        found = []
        for text in self.text().splitlines():
            if not text.startswith("{"):
                continue
            line = json.loads(text)
            if message in {"", line["msg"]} and wanted.items() <= line.items():
                found.append(line)
        return found

    def runs_of(self, name: str) -> int:
        """How many runs of an object have begun."""
        return sum(line["key"].endswith(f"/{name}") for line in self.lines("Reconciling"))


@dataclass
class Cluster:
    """Objects of a namespace."""

    bed: TestBed
    namespace: str

    def apply(self, kind: str, name: str, spec: Any, **metadata: Any) -> None:
        groups = {"Follower": "other.example.com"} | dict.fromkeys(
            ADVANCED.values(), "test.example.com"
        )
        obj = {
            "apiVersion": f"{groups.get(kind, 'runner.example.com')}/v1alpha1",
            "kind": "Selected" if kind == "Follower" else kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        if kind != "GlobalTest":
            obj["metadata"]["namespace"] = self.namespace
        self.bed.kubectl("apply", "-f", "-", input=json.dumps(obj))

    def kubectl(self, *arguments: str) -> str:
        return self.bed.kubectl("-n", self.namespace, *arguments)

    def get(self, resource: str, name: str) -> dict[str, Any] | None:
        text = self.kubectl("get", resource, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text else None

    def conditions(self, resource: str, name: str) -> dict[str, dict[str, Any]]:
        obj = self.get(resource, name) or {}
        return {item["type"]: item for item in obj.get("status", {}).get("conditions", [])}

    def wait_for(self, resource: str, name: str, condition: str, status: str = "True") -> Any:
        """The condition once it has this status."""

        def look() -> Any:
            found = self.conditions(resource, name).get(condition)
            return found if found and found["status"] == status else None

        return eventually(look)


def define(bed: TestBed, kinds: Mapping[str, str] = KINDS | ADVANCED) -> None:
    """Make kinds known, those that most of these tests use unless others are named."""
    items = [definition(name, kind) for name, kind in kinds.items()]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    # Workers of xdist do this side by side.
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(listed))
    names = [f"crd/{name}" for name in kinds]
    bed.kubectl("wait", "--for=condition=Established", "--timeout=30s", *names)


def launch(
    bed: TestBed, folder: Path, namespace: str, *flags: str, project: Path, **environment: str
) -> Operator:
    """Start an operator that watches one namespace; its files are in a folder."""
    shutil.copytree(project, folder / "project")
    command = [sys.executable, "-m", "ansible_operator", "run", "--proxy-port=0"]
    command += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    command += ["--metrics-api-port=0", "--zap-log-level=debug"]
    command += [f"--run-directory={folder / 'runs'}", *flags]
    output = folder / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder / "project",
            stdout=file,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "KUBECONFIG": str(bed.kubeconfig),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_GATHERING": "explicit",
                "WATCH_NAMESPACE": namespace,
                **environment,
            },
        )
    return Operator(process, output, folder / "runs")


@pytest.fixture(scope="session")
def definitions(fake_testbed: TestBed) -> TestBed:
    define(fake_testbed)
    return fake_testbed


Start = Callable[..., Operator]


@pytest.fixture(scope="module")
def start(definitions: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts operators that watch one namespace; all are ended after the module."""
    started: list[Operator] = []

    def run(namespace: str, *flags: str, project: Path = PROJECT, **environment: str) -> Operator:
        folder = tmp_path_factory.mktemp("operator")
        started.append(
            launch(definitions, folder, namespace, *flags, project=project, **environment)
        )
        return started[-1]

    yield run
    for operator in started:
        operator.kill()


@pytest.fixture(scope="module")
def cluster(definitions: TestBed) -> Iterator[Cluster]:
    with definitions.namespace("operator") as namespace:
        yield Cluster(definitions, namespace)
        # Nobody is left who would take the finalizer off.
        names = definitions.kubectl(
            "-n", namespace, "get", "memcacheds.runner.example.com", "-o", "name"
        ).split()
        for name in names:
            patch = '{"metadata":{"finalizers":null}}'
            definitions.kubectl("-n", namespace, "patch", name, "--type=merge", "-p", patch)


@pytest.fixture(scope="module")
def operator(start: Start, cluster: Cluster) -> Operator:
    return start(cluster.namespace)
