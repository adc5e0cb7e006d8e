# SPDX-License-Identifier: Apache-2.0
"""A MatrixOneCluster on the real node with the operator that runs it, for scenarios."""

import base64
import json
import os
import signal
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pymysql

from image.operator import IMAGE
from testbed.bed import KubectlError, TestBed
from tests.e2e.deployed import Deployed
from tests.support.examples import example
from tests.support.operator_rights import account, refusals
from tests.support.operators import Operator as Process
from tests.support.operators import launch
from tests.support.places import ROOT

_READY_SECONDS = 240
DRAIN_SECONDS = 330
"""What a drain may take at most, by default, and a bit."""

# HAKeeper gives a log store up after 5 minutes; tests cannot wait for that.
HAKEEPER_TIMEOUT = '[logservice.HAKeeperConfig]\nlog-store-timeout = "20s"\n'
# From 2.0 on a log store never joins again that was away for so long: what restarts log stores of a
# busy machine gives them more time.
LONGER_HAKEEPER_TIMEOUT = '[logservice.HAKeeperConfig]\nlog-store-timeout = "60s"\n'

Json = dict[str, Any]


class Operator:
    """The operator as a process on this machine.

    Args:
        bed: where it works.
        namespace: what it watches.
        folder: gets its log.
        health_period: how often it asks components.
        everywhere: watch all namespaces, which Backups need to get a status.
    """

    def __init__(
        self,
        bed: TestBed,
        namespace: str,
        folder: Path,
        health_period: str = "10s",
        *,
        everywhere: bool = False,
    ) -> None:
        self._bed, self._namespace, self._folder = bed, namespace, folder
        self._variables = {
            "WATCH_NAMESPACE": "" if everywhere else namespace,
            "HEALTH_PERIOD": health_period,
            "OPERATOR_IMAGE": IMAGE,
        }
        self._process: Process | None = None
        self._rights = account(bed, namespace, folder / "kubeconfig", everywhere=True)

    @property
    def log(self) -> Path:
        """What it printed, over all its starts."""
        return self._folder / "log"

    @property
    def pid(self) -> int:
        """Its process, while it runs."""
        assert self._process is not None
        return self._process.process.pid

    def artifacts(self) -> str:
        """What its runs have left behind until now."""
        files = (path for path in (self._folder / "runs").rglob("*") if path.is_file())
        return "\n".join(path.read_text(errors="replace") for path in files)

    def start(self) -> None:
        """Start it."""
        self._process = launch(self._rights, self._folder, variables=self._variables)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it; SIGKILL plays a crash."""
        if self._process is not None:
            self._process.stop(how)
            self._process = None

    def remove(self) -> None:
        """End it; nothing else is left of it."""
        self.end()


class Cluster:
    """A MatrixOneCluster ``mo`` in a namespace of its own.

    Attributes:
        tls: what its sessions trust; None for sessions without TLS.
    """

    def __init__(self, bed: TestBed, namespace: str, operator: "Operator | Deployed") -> None:
        self.bed, self.namespace, self.operator = bed, namespace, operator
        self.tls: ssl.SSLContext | None = None

    def kubectl(self, *arguments: str, **how: Any) -> str:
        """Run kubectl in the namespace."""
        return self.bed.kubectl("-n", self.namespace, *arguments, **how)

    def get(self, *what: str) -> Json:
        """Return what ``kubectl get`` shows."""
        return dict(json.loads(self.kubectl("get", *what, "-o", "json")))

    def patch(self, kind: str, name: str, change: Mapping[str, Any]) -> None:
        """Merge a change into an object."""
        self.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change))

    def change(self, path: str, value: Any) -> None:
        """Set a field of the cluster's spec that is there, e.g. ``cnGroups/0/replicas``."""
        operations = [{"op": "replace", "path": f"/spec/{path}", "value": value}]
        self.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(operations))

    def condition(self, kind: str, name: str, of: str) -> Json:
        """Return a condition of an object; empty if it has none of that type."""
        listed = self.get(kind, name).get("status", {}).get("conditions", [])
        return next((dict(one) for one in listed if one["type"] == of), {})

    def pods(self, kind: str) -> dict[str, Json]:
        """Return the Pods of all sets of a kind, by name."""
        listed = self.get("pods", "-l", f"matrixorigin.io/component={kind}")["items"]
        return {one["metadata"]["name"]: one for one in listed}

    def await_ready(self, seconds: int = _READY_SECONDS) -> None:
        """Wait until the whole cluster is ready; a failure says what the cluster waits for."""
        try:
            self.kubectl("wait", "--for=condition=Ready", "mo/mo", f"--timeout={seconds}s")
        except KubectlError as error:
            told = self.condition("mo", "mo", "Ready").get("message")
            raise AssertionError(f"{error}; Ready says: {told}") from error

    @cached_property
    def entrance(self) -> Json:
        """Where the root user finds SQL, as PyMySQL takes it."""
        name = self.get("mo", "mo")["status"]["credentialRef"]["name"]
        secret = self.get("secret", name)["data"]
        return {
            "host": self.get("service", "mo-proxy")["spec"]["clusterIP"],
            "port": 6001,
            "user": base64.b64decode(secret["username"]).decode(),
            "password": base64.b64decode(secret["password"]).decode(),
        }

    def forget_entrance(self) -> None:
        """Ask again for address and password, after the cluster was made anew."""
        self.__dict__.pop("entrance", None)

    def connect(self) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
        """Open a session through the proxy."""
        return pymysql.connect(
            **self.entrance,
            connect_timeout=15,
            read_timeout=30,
            write_timeout=30,
            autocommit=True,
            ssl=self.tls,
        )


def tiny_cluster() -> Json:
    """Return the smallest cluster with every part, with the MatrixOne of the test bed."""
    return example("tiny-cluster.yaml")


def replacing(resource: Json, after: str = "20s", config: str = HAKEEPER_TIMEOUT) -> Json:
    """Let a cluster replace log stores that have failed.

    Args:
        resource: the MatrixOneCluster; it is changed and returned.
        after: how long a store must have failed, as ``storeFailureTimeout``.
        config: of the log stores.
    """
    resource["spec"]["logService"] |= {
        "storeFailureTimeout": after,
        "config": config,
        "failedPodStrategy": "Delete",
    }
    return resource


def draining(resource: Json) -> Json:
    """Give a cluster two compute nodes that drain; it is changed and returned."""
    resource["spec"]["cnGroups"][0] |= {
        "replicas": 2,
        "scalingConfig": {
            "storeDrainEnabled": True,
            "storeDrainTimeout": "2m",
            "minDelaySeconds": 2,
        },
    }
    return resource


@contextmanager
def operating(
    bed: TestBed,
    folder: Path,
    prefix: str,
    *,
    deployed: bool | None = None,
    may_be_refused: bool = False,
    everywhere: bool = False,
) -> Iterator[Cluster]:
    """Run an operator until the end of the block, with a namespace for what it is to make.

    Args:
        bed: a test bed with a real node and the image of MatrixOne.
        folder: for the operator's log.
        prefix: of the namespace's name.
        deployed: whether it runs in the cluster, or else as a process on this machine, which does
            not know the cluster's names; None for what OPERATOR=deployment says.
        may_be_refused: whether an API server that begins anew refuses it until it knows all rights.
        everywhere: whether a process watches all namespaces, as one in the cluster does.
    """
    if deployed is None:
        deployed = os.environ.get("OPERATOR") == "deployment"
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    with bed.namespace(prefix) as namespace:
        operator: Operator | Deployed
        if deployed:
            operator = Deployed(bed, folder)
        else:
            operator = Operator(bed, namespace, folder, everywhere=everywhere)
        operator.start()
        try:
            yield Cluster(bed, namespace, operator)
            assert may_be_refused or refusals(operator.log) == []
        finally:
            operator.remove()


@contextmanager
def operated(
    bed: TestBed, folder: Path, resource: Json, prefix: str, *, deployed: bool | None = None
) -> Iterator[Cluster]:
    """Run a cluster and its operator until the end of the block; it is ready when that begins.

    Args:
        bed: as for `operating`.
        folder: as for `operating`.
        resource: the MatrixOneCluster, called ``mo``.
        prefix: of the namespace's name.
        deployed: as for `operating`.
    """
    with operating(bed, folder, prefix, deployed=deployed) as made:
        made.kubectl("apply", "-f", "-", input=json.dumps(resource))
        made.await_ready()
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")
