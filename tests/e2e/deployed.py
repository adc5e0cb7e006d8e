# SPDX-License-Identifier: Apache-2.0
"""The operator as users run it: its image in two Pods, with its own rights, in the cluster."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from image.operator import IMAGE, operator_archive
from testbed import lifecycle
from testbed.bed import KubectlError, TestBed
from tests.support.places import ROOT

NAMESPACE = "matrixone-operator"
LABELS = "app.kubernetes.io/name=matrixone-operator,app.kubernetes.io/component=operator"
_SECONDS = 300

Json = dict[str, Any]


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
        """What it has said until now, over all its starts."""
        path = self.folder / "operator.log"
        path.write_text(self._before.read_text() if self._before.exists() else "")
        with path.open("a") as log:
            for name, pod in self.pods().items():
                log.write(self._said(name, pod))
        return path

    @property
    def _before(self) -> Path:
        """Keeps what Pods have said that are gone."""
        return self.folder / "operator-before.log"

    def _said(self, name: str, pod: Json) -> str:
        restarted = any(one["restartCount"] for one in pod["status"].get("containerStatuses", []))
        said = [self.kubectl("logs", name, "--previous")] if restarted else []
        try:
            said.append(self.kubectl("logs", name))
        except KubectlError:  # nobody can ask on a node that is lost
            if "deletionTimestamp" not in pod["metadata"]:
                raise
        return "".join(said)

    def artifacts(self) -> str:
        """What its runs have left behind until now."""
        said = "find /tmp/ansible-operator/runner -type f -exec cat {} +"
        return "\n".join(self.kubectl("exec", name, "--", "sh", "-c", said) for name in self.pods())

    def start(self) -> None:
        """Deploy it, or bring its Pods back."""
        if self._before.exists():
            self.kubectl("scale", "deployment", NAMESPACE, "--replicas=2")
            self.kubectl("rollout", "status", f"deployment/{NAMESPACE}", "--timeout=120s")
            return
        lifecycle.load_image(str(operator_archive()), self.bed.name)
        self.make("deploy", f"IMG={IMAGE}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Take its Pods away; SIGKILL plays a crash of both: nobody gives the lease back."""
        pods = self.pods()
        if how is signal.SIGKILL:
            for name in pods:
                with suppress(KubectlError):  # it kills its own shell, too
                    self.kubectl("exec", name, "--", "sh", "-c", "kill -9 -1")
        self._before.write_text(self.log.read_text())
        self.kubectl("scale", "deployment", NAMESPACE, "--replicas=0")
        self._release(pods)
        self.kubectl("wait", "--for=delete", "pods", "-l", LABELS, "--timeout=90s")

    def _release(self, pods: dict[str, Json]) -> None:
        """Let go of Pods that were to go before: nobody ends them on a node that is lost."""
        for name, pod in pods.items():
            if "deletionTimestamp" in pod["metadata"]:
                self.kubectl("delete", "pod", name, "--grace-period=0", "--force")

    def remove(self) -> None:
        """Take it out of the cluster, whatever else is there."""
        self._release(self.pods())
        self.make("undeploy", "FORCE=1")

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl in the operator's namespace."""
        return self.bed.kubectl("-n", NAMESPACE, *arguments)

    def pods(self) -> dict[str, Json]:
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
