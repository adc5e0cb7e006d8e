# SPDX-License-Identifier: Apache-2.0
"""The operator as users run it: its image in two Pods, with its own rights, in the cluster."""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from image.operator import IMAGE, operator_archive
from testbed import lifecycle
from testbed.bed import TestBed

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "matrixone-operator"
LABELS = "app.kubernetes.io/name=matrixone-operator,app.kubernetes.io/component=operator"
_SECONDS = 300


@dataclass(frozen=True)
class Deployed:
    """What the scenarios need of an operator, of one that is deployed.

    Attributes:
        bed: a test bed with a real node.
        folder: gets its log.
    """

    bed: TestBed
    folder: Path

    @property
    def log(self) -> Path:
        """What its Pods have said until now, those that are gone left out."""
        path = self.folder / "operator.log"
        path.write_text(self.kubectl("logs", "-l", LABELS, "--tail=-1", "--prefix"))
        return path

    def start(self) -> None:
        """Deploy it, or bring its Pods back."""
        lifecycle.load_image(str(operator_archive()), self.bed.name)
        self.make("deploy", f"IMG={IMAGE}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Take its Pods away; SIGKILL plays a crash of both."""
        self.kubectl("scale", "deployment", NAMESPACE, "--replicas=0")
        if how is signal.SIGKILL:
            self.kubectl("delete", "pods", "-l", LABELS, "--grace-period=0", "--force")
        self.kubectl("wait", "--for=delete", "pods", "-l", LABELS, "--timeout=90s")

    def remove(self) -> None:
        """Take it out of the cluster, whatever else is there."""
        self.make("undeploy", "FORCE=1")

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl in the operator's namespace."""
        return self.bed.kubectl("-n", NAMESPACE, *arguments)

    def pods(self) -> dict[str, dict[str, Any]]:
        """Its Pods by name."""
        listed = json.loads(self.kubectl("get", "pods", "-l", LABELS, "-o", "json"))["items"]
        return {one["metadata"]["name"]: one for one in listed}

    def leader(self) -> str:
        """Name of the Pod that holds the lease; empty if none does."""
        text = self.kubectl("get", "lease", NAMESPACE, "-o", "json")
        return str(json.loads(text)["spec"].get("holderIdentity", "")).partition("_")[0]

    def make(self, *arguments: str) -> str:
        """Run a target of the Makefile against the test bed."""
        path = f"{self.bed.kubectl_path.parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["make", "-C", str(ROOT), *arguments],
            env={**os.environ, "PATH": path, "KUBECONFIG": str(self.bed.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout
