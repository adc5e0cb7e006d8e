# SPDX-License-Identifier: Apache-2.0
"""The operators that are compared: how each is started, asked and stopped."""

import http.client
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench import cost
from bench.clusters import Cluster
from testbed.ports import choose_ports
from testbed.processes import last_words

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORKERS = 4
"""Runs at the same time, for every peer."""
GO = "PEER_ANSIBLE_OPERATOR"

_START_SECONDS = 90.0
_STOP_SECONDS = 45.0
_RECONCILES = re.compile(r"^controller_runtime_reconcile_total\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class PeerError(Exception):
    """A peer did not start, or has ended; the message quotes its log."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One operator.

    Attributes:
        name: what tables call it.
        about: what it is, in a line.
        role: the role that its watches name; empty when it plays none.
        isolation: that its watches name; empty for the default.
        flags: flags of its own.
        program: what is started; empty for our own runner.
        watches: watches file of its own, whose roles come from collections; None for the
            benchmark's project.
        is_slow: whether sizes above a few dozen would take too long.
    """

    name: str
    about: str
    role: str = "one_task"
    isolation: str = ""
    flags: tuple[str, ...] = ()
    program: str = ""
    is_slow: bool = False
    watches: Path | None = None

    @property
    def is_kopf(self) -> bool:
        """Whether it is a kopf operator instead of a runner of watches files."""
        return not self.role

    def missing(self) -> str:
        """Why it cannot run here; empty when it can."""
        if self.is_kopf and importlib.util.find_spec("kopf") is None:
            return "kopf is not installed: uv pip install -e '.[bench]'"
        if self.name == "go" and not self.program:
            return f"set {GO} to the path of its ansible-operator"
        if self.program and not os.access(self.program, os.X_OK):
            return f"{self.program} cannot be executed"
        return ""


def peers(environment: Mapping[str, str] = os.environ) -> list[Peer]:
    """All peers, available or not; the first is what the others are compared with."""
    return [
        Peer("ours", "this runner, role with one kubernetes.core.k8s task"),
        Peer("ours-apply", "this runner, role with one matrixorigin.matrixone.apply", "one_apply"),
        Peer(
            "ours-shared",
            "ours-apply with isolation: shared",
            "one_apply",
            isolation="shared",
        ),
        Peer("kopf", "a kopf operator that does the same in Python", role=""),
        Peer(
            "ours-runner",
            "this runner with --engine ansible-runner",
            flags=("--engine=ansible-runner",),
            is_slow=True,
        ),
        Peer(
            "go",
            f"the Go runner that {GO} names",
            program=environment.get(GO, ""),
            is_slow=True,
        ),
        Peer(
            "matrixone",
            "this runner with the roles of this collection",
            flags=("--ansible-verbosity=0",),
            watches=ROOT / "watches.yaml",
        ),
    ]


@dataclass(frozen=True, slots=True)
class Running:
    """A peer that runs.

    Attributes:
        pid: of the reaper at the root of its processes.
        user: as whom the API server knows it.
        counter: port where runs are counted.
        started: monotonic time of its start.
        log: its output.
    """

    peer: Peer
    pid: int
    user: str
    counter: int
    started: float
    log: Path

    def runs(self) -> int:
        """How many runs have ended since its start."""
        return round(
            sum(float(value) for value in _RECONCILES.findall(_get(self.counter, "/metrics")))
        )

    def cpu(self) -> float:
        """CPU seconds since its start, children included."""
        return cost.cpu_seconds(self.pid)

    def memory(self) -> float:
        """Memory of all its processes now, in MiB."""
        return cost.memory_mebibytes(self.pid)


@contextmanager
def running(peer: Peer, cluster: Cluster, period: str) -> Iterator[Running]:
    """Run a peer for the block, ready to work.

    Args:
        peer: which.
        cluster: where; it watches the cluster's namespace.
        period: time between two runs of an unchanged object, as ``36000s``.

    Raises:
        PeerError: it is not ready in time.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        user, kubeconfig = cluster.account(peer.name, folder)
        ports = choose_ports(("probes", "metrics", "proxy"), taken=())
        command = _kopf(cluster, ports) if peer.is_kopf else _runner(peer, folder, ports)
        environment = _environment(cluster, kubeconfig, period)
        environment["METRICS_PORT"] = str(ports["metrics"])
        log = folder / "log"
        started = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", HERE / "reaper.py", *command],
                cwd=_project(peer, folder),
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            _wait_until_ready(
                process, ports["probes"], "/healthz" if peer.is_kopf else "/readyz", log
            )
            yield Running(peer, process.pid, user, ports["metrics"], started, log)
        finally:
            _stop(process)


def _project(peer: Peer, folder: Path) -> Path:
    """A project folder whose watches name the peer's role."""
    project = folder / "project"
    project.mkdir()
    if peer.watches is not None:
        (project / "watches.yaml").symlink_to(peer.watches)
        return project
    (project / "roles").symlink_to(HERE / "project" / "roles")
    watches = yaml.safe_load((HERE / "project" / "watches.yaml").read_text())
    watches[0]["role"] = peer.role
    if peer.isolation:
        watches[0]["isolation"] = peer.isolation
    (project / "watches.yaml").write_text(yaml.safe_dump(watches))
    return project


def _environment(cluster: Cluster, kubeconfig: Path, period: str) -> dict[str, str]:
    binaries = Path(sys.executable).parent
    return {
        "PATH": f"{binaries}:{os.environ.get('PATH', os.defpath)}",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "TMPDIR": tempfile.gettempdir(),
        "KUBECONFIG": str(kubeconfig),
        "WATCH_NAMESPACE": cluster.namespace,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
        "ANSIBLE_GATHERING": "explicit",
        "VIRTUAL_ENV": str(binaries.parent),
        # No MatrixOne runs in the Pods of fake nodes; if asked for a sign of life, none is Ready.
        "HEALTH_PERIOD": "0",
        "PERIOD": period,
        "WORKERS": str(WORKERS),
    }


def _runner(peer: Peer, folder: Path, ports: Mapping[str, int]) -> list[str]:
    ours = [sys.executable, "-m", "ansible_operator"]
    command = [peer.program] if peer.program else ours
    command += ["run", f"--max-concurrent-reconciles={WORKERS}", "--zap-log-level=error"]
    command += [f"--health-probe-bind-address=127.0.0.1:{ports['probes']}"]
    command += [f"--metrics-bind-address=127.0.0.1:{ports['metrics']}"]
    if peer.program:  # its kubeconfigs name its default port whatever the flag says
        return command
    command += [f"--proxy-port={ports['proxy']}", "--metrics-api-port=0"]
    return [*command, f"--run-directory={folder / 'runs'}", *peer.flags]


def _kopf(cluster: Cluster, ports: Mapping[str, int]) -> list[str]:
    command = [sys.executable, "-m", "kopf", "run", "--quiet", "--standalone"]
    command += ["--namespace", cluster.namespace]
    command += [f"--liveness=http://127.0.0.1:{ports['probes']}/healthz"]
    return [*command, str(HERE / "kopf_peer.py")]


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
    except OSError:
        return ""
    finally:
        connection.close()
    return text if answer.status == 200 else ""


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if _get(port, path):
            return
        time.sleep(0.05)
    raise PeerError(f"it is not ready: {last_words(log, lines=10)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to stop; end all its processes when it takes too long."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        for pid in reversed(cost.tree(process.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
