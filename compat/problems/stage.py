# SPDX-License-Identifier: Apache-2.0
"""A namespace with one runner on the project of this package, for one problem."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compat.operators import ROOT, Running, base_environment, running
from compat.passes import Json, has_ended
from testbed.api import ApiClient, ApiError
from testbed.bed import TestBed

PROJECT = Path(__file__).with_name("project")
GROUP, VERSION = "problems.example.com", "v1alpha1"
KINDS = ("Probe", "Second", "Third", "Fourth", "Limited", "Literal", "Parting")
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PAUSE_SECONDS = 0.1


def define(bed: TestBed) -> None:
    """Create the CRDs of all kinds, and wait until they are served."""
    items = [_definition(kind) for kind in KINDS]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    bed.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))
    names = [f"crd/{one['metadata']['name']}" for one in items]
    bed.kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)


def _definition(kind: str) -> Json:
    parts = {"spec": _ANYTHING, "status": _ANYTHING}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": parts}},
    }
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Wait until a condition holds; False when the time has passed."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
    return True


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one problem is observed.

    Attributes:
        bed: the cluster.
        program: the Go runner's; empty for this runner.
        namespace: of the objects; no other runner watches it.
        folder: for all files of the runner and its plays.
    """

    bed: TestBed
    program: str
    namespace: str
    folder: Path

    @contextmanager
    def operator(self, *flags: str, **variables: str) -> Iterator[Running]:
        """Run the runner for the block; it watches the namespace."""
        for path in (self._records, self.temporary):
            path.mkdir(exist_ok=True)
        environment = {
            **base_environment(self.bed.kubeconfig, self.folder),
            "WATCH_NAMESPACE": self.namespace,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "RECORDS": str(self._records),
            "TMPDIR": str(self.temporary),
            **variables,
        }
        with running(self.program, PROJECT, self.folder, environment, flags) as operator:
            yield operator

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of the runner and its plays."""
        return self.folder / "temporary"

    @property
    def _records(self) -> Path:
        return self.folder / "records"

    def create(
        self, name: str, behave: str, kind: str = "Probe", period: str = "", **spec: Any
    ) -> None:
        """Create an object that asks its play to behave in a way, after a file of the role."""
        annotations = {"ansible.sdk.operatorframework.io/reconcile-period": period}
        obj = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": kind,
            "metadata": {"name": name, "annotations": annotations if period else {}},
            "spec": {"behave": behave, **spec},
        }
        self._client.request("POST", self._path(kind), obj)

    @property
    def _client(self) -> ApiClient:
        return ApiClient(self.bed.kubeconfig)

    def _path(self, kind: str, name: str = "") -> str:
        path = f"/apis/{GROUP}/{VERSION}/namespaces/{self.namespace}/{kind.lower()}s"
        return f"{path}/{name}" if name else path

    def object(self, name: str, kind: str = "Probe") -> Json:
        """Return an object; empty if there is none."""
        return self._read(self._path(kind, name))

    def config_map(self, name: str) -> Json:
        """Return a ConfigMap; empty if there is none."""
        return self._read(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}")

    def has_namespace(self) -> bool:
        """Whether the namespace exists."""
        return bool(self._read(f"/api/v1/namespaces/{self.namespace}"))

    def _read(self, path: str) -> Json:
        try:
            return self._client.request("GET", path)
        except ApiError as error:
            if error.status == 404:
                return {}
            raise

    def conditions(self, name: str, kind: str = "Probe") -> dict[str, Json]:
        """Return the conditions of an object by type."""
        listed = (self.object(name, kind).get("status") or {}).get("conditions") or ()
        return {one["type"]: one for one in listed}

    def writes(self, name: str, version: str, seconds: float) -> int:
        """Count the writes of an object of kind Probe for some seconds, behind a version."""
        changes = self._client.watch(self._path("Probe"), version, seconds)
        return sum(kind == "MODIFIED" and obj["metadata"]["name"] == name for kind, obj in changes)

    def count_ended(self, kind: str = "Probe") -> int:
        """Count the objects whose conditions report the end of a play."""
        return sum(map(has_ended, self._client.request("GET", self._path(kind))["items"]))

    def times(self, what: str, names: Sequence[str]) -> list[float]:
        """Return when plays of objects reached their ``begin`` or their ``end``, in seconds."""
        files = (self._records / name for name in names)
        lines = [line for path in files if path.exists() for line in path.read_text().split("\n")]
        words = [line.split() for line in lines if line]
        return [float(moment) for said, moment in words if said == what]

    def begun(self, name: str) -> int:
        """Count the plays of an object."""
        return len(self.times("begin", [name]))
