# SPDX-License-Identifier: Apache-2.0
"""The demo's cluster: its own test bed, or the cluster in KUBECONFIG."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import testbed
from demo.sql import Endpoint
from demo.stages import CLUSTER
from image.operator import IMAGE, operator_archive
from testbed import database, lifecycle
from testbed.places import Places, state_root
from testbed.ports import choose_ports
from testbed.processes import Launcher, find, kill

NAME = CLUSTER
NAMESPACE = "default"
_NAME_OF_TEST_BED = "demo"
_KUBECTL_SECONDS = 300


class ClusterError(Exception):
    """The cluster cannot be used; one line that says what to do."""


class Cluster(Protocol):
    """What the demo needs of a Kubernetes cluster."""

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig to use and to hand on."""
        ...

    @property
    def launcher(self) -> Launcher:
        """Starts the demo's own processes."""
        ...

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        """Run kubectl and return its output."""
        ...

    @property
    def version(self) -> str:
        """The tag of the MatrixOne that its nodes have; empty if a registry has the images."""
        ...

    @property
    def operator_image(self) -> str:
        """The image that Jobs of the operator run; empty if none is known."""
        ...

    def load_operator_image(self, progress: Callable[[str], None]) -> bool:
        """Give the operator's image to the nodes, built if need be.

        Returns:
            Whether they have it, so that Jobs of backups run.

        Raises:
            TestBedError: it could not be built.
        """
        ...

    def object_store(self, *buckets: str) -> testbed.ObjectStore:
        """Give the demo an S3 server with buckets.

        Raises:
            ClusterError: nobody can start one here.
        """
        ...

    def service_address(self) -> tuple[str, int]:
        """Where this machine reaches the SQL Service."""
        ...

    def remove(self, progress: Callable[[str], None]) -> None:
        """Delete what the demo has created."""
        ...


@dataclass(frozen=True, slots=True)
class TestBedCluster:
    """A test bed with one real node for the demo."""

    bed: testbed.TestBed

    @classmethod
    def up(cls, progress: Callable[[str], None]) -> "TestBedCluster":
        """Bring the test bed up, or find it running."""
        bed = testbed.up(_NAME_OF_TEST_BED, nodes="real", images=["matrixone"], progress=progress)
        return cls(bed)

    @classmethod
    def find(cls) -> "TestBedCluster | None":
        """The demo's test bed, if there is one."""
        try:
            return cls(testbed.get(_NAME_OF_TEST_BED))
        except testbed.NotFoundError:
            return None

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of the test bed."""
        return self.bed.kubeconfig

    @property
    def launcher(self) -> Launcher:
        """Starts processes that end with the test bed."""
        return Launcher(self.bed.places, self.bed.state.identity)

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        """Run the kubectl that fits the test bed."""
        return self.bed.kubectl(*args, input=input)

    @property
    def version(self) -> str:
        """What the test bed was asked for; there is no registry."""
        return database.chosen().tag

    @property
    def operator_image(self) -> str:
        """Name of the image that is built of this checkout."""
        return IMAGE

    def load_operator_image(self, progress: Callable[[str], None]) -> bool:
        """Import the image's archive, which is built once for each state of the sources."""
        lifecycle.load_image(str(operator_archive(progress)), self.bed.name)
        return True

    def object_store(self, *buckets: str) -> testbed.ObjectStore:
        """Add an S3 server to the test bed."""
        return testbed.add_object_store(self.bed.name, buckets)

    def service_address(self) -> tuple[str, int]:
        """Cluster addresses of a test bed are reached from its machine directly."""
        service = json.loads(self.kubectl("get", "service", f"{NAME}-proxy", "-o", "json"))
        return service["spec"]["clusterIP"], service["spec"]["ports"][0]["port"]

    def remove(self, progress: Callable[[str], None]) -> None:
        """Take the test bed down, with all that runs in it."""
        testbed.down(_NAME_OF_TEST_BED, progress=progress)


@dataclass(frozen=True, slots=True)
class ExistingCluster:
    """The cluster that KUBECONFIG names; its folder keeps what the demo started."""

    kubeconfig: Path
    program: str

    @classmethod
    def of_environment(cls) -> "ExistingCluster":
        """Use KUBECONFIG, or kubectl's default.

        Raises:
            ClusterError: there is no such file, or no kubectl, or a MatrixOne was chosen.
        """
        chosen = [name for name in database.VARIABLES if os.environ.get(name)]
        if chosen:
            message = f"{chosen[0]} needs the demo's own cluster, without DEMO=existing"
            raise ClusterError(message)
        named = os.environ.get("KUBECONFIG")
        kubeconfig = Path(named) if named else Path.home() / ".kube" / "config"
        if not kubeconfig.is_file():
            message = f"{kubeconfig} is not a file: set KUBECONFIG to the cluster to be used"
            raise ClusterError(message)
        program = shutil.which("kubectl")
        if program is None:
            message = "kubectl is not in PATH: install it to use an existing cluster"
            raise ClusterError(message)
        return cls(kubeconfig, program)

    @property
    def launcher(self) -> Launcher:
        """Starts processes that `remove` ends."""
        return Launcher(Places(state_root().with_name("matrixone-demo")), "demo")

    @property
    def version(self) -> str:
        """Its registry has what the example names."""
        return ""

    @property
    def operator_image(self) -> str:
        """What the user says that the cluster can pull."""
        return os.environ.get("OPERATOR_IMAGE", "")

    def load_operator_image(self, progress: Callable[[str], None]) -> bool:
        """Load nothing: the nodes are the user's, and so are their volumes and buckets."""
        progress("no backup: where this cluster can keep one is for you to say (docs/backup.md)")
        return False

    def object_store(self, *buckets: str) -> testbed.ObjectStore:
        """Refuse: Pods of a foreign cluster do not reach a server on this machine."""
        message = f"S3=1 needs the demo's own cluster, without DEMO=existing ({', '.join(buckets)})"
        raise ClusterError(message)

    def kubectl(self, *args: str, input: str | None = None) -> str:  # noqa: A002
        """Run kubectl; raises ClusterError with what it says."""
        result = subprocess.run(
            [self.program, f"--kubeconfig={self.kubeconfig}", *args],
            input=input,
            capture_output=True,
            text=True,
            check=False,
            timeout=_KUBECTL_SECONDS,
        )
        if result.returncode:
            message = f"kubectl {' '.join(args)}: {result.stderr.strip()}"
            raise ClusterError(message)
        return result.stdout

    def service_address(self) -> tuple[str, int]:
        """Forward a local port to the Service: cluster addresses may not be reachable from here."""
        forward = find(self.launcher.places, "port-forward")
        if forward and forward.alive():
            kill(forward)
        port = choose_ports(["sql"], taken=())["sql"]
        self.launcher.start(
            "port-forward",
            [
                *(self.program, f"--kubeconfig={self.kubeconfig}", "-n", NAMESPACE),
                *("port-forward", f"service/{NAME}-proxy", f"{port}:6001"),
            ],
        )
        return "127.0.0.1", port

    def remove(self, progress: Callable[[str], None]) -> None:
        """End the demo's processes; the cluster itself is the user's."""
        forward = find(self.launcher.places, "port-forward")
        if forward:
            kill(forward)
        if self.launcher.places.root.exists():
            shutil.rmtree(self.launcher.places.root)
        progress("the demo's processes have ended; to delete the CRDs: `make uninstall`")


def endpoint(cluster: Cluster) -> Endpoint:
    """Where and as whom to connect to the demo's database."""
    secret: dict[str, Any] = json.loads(
        cluster.kubectl("-n", NAMESPACE, "get", "secret", f"{NAME}-credential", "-o", "json")
    )
    user, password = (
        base64.b64decode(secret["data"][key]).decode() for key in ("username", "password")
    )
    host, port = cluster.service_address()
    return Endpoint(host, port, user, password)
