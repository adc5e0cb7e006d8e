# SPDX-License-Identifier: Apache-2.0
"""`python -m demo.memcached`: the tutorial operator of examples/memcached on fake nodes.

Everything happens on a test bed of its own, which is removed at the end whatever happens.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import yaml

import testbed
from testbed.interrupts import end_as_by_ctrl_c
from testbed.ports import choose_ports
from testbed.processes import last_words, terminate

PROJECT = Path(__file__).resolve().parents[1] / "examples" / "memcached"
COLLECTIONS = PROJECT.parents[1] / ".collections"
SYSTEM = "memcached-operator-system"
ACCOUNT = "memcached-operator-controller-manager"
SAMPLE = "memcached-sample"

_NAME = "demo-memcached"
_PEER = os.environ.get("PEER_ANSIBLE_OPERATOR", "")
"""The program of another runner of watches files that plays the project, e.g. operator-sdk's."""
_START_SECONDS = 60.0
_STOP_SECONDS = 40.0
_STEP_SECONDS = 150.0 if _PEER else 30.0
# The garbage collector discovers new kinds twice a minute; until then it does not know the owner.
_GARBAGE_SECONDS = 90.0


class DemoError(Exception):
    """A step did not end as it should; one line that says which."""


def install(bed: testbed.TestBed, crd: str = "config/crd") -> None:
    """Apply the CRD, the namespace and the RBAC rules of the project."""
    bed.kubectl("apply", "--server-side", "-k", str(PROJECT / crd))
    bed.kubectl("apply", "-f", str(PROJECT / "config" / "manager" / "namespace.yaml"))
    bed.kubectl("apply", "-k", str(PROJECT / "config" / "rbac"))
    bed.kubectl(
        *("wait", "--for=condition=Established", "--timeout=30s"),
        "crd/memcacheds.cache.example.com",
    )


def service_account_kubeconfig(bed: testbed.TestBed, folder: Path) -> Path:
    """Write a kubeconfig of the operator's ServiceAccount, which may do what its RBAC says."""
    content = yaml.safe_load(bed.kubeconfig.read_text())
    token = bed.kubectl("-n", SYSTEM, "create", "token", ACCOUNT, "--duration=2h").strip()
    content["users"][0]["user"] = {"token": token}
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content))
    return path


@contextmanager
def running_operator(kubeconfig: Path, folder: Path, namespace: str = "") -> Iterator[Path]:
    """Run the project's operator for the block.

    Args:
        kubeconfig: who it is, and on which cluster.
        folder: takes its log and run directories.
        namespace: what it watches; all when empty.

    Yields:
        Its log file.

    Raises:
        DemoError: it ended or was not ready within a minute.
    """
    ports = choose_ports(("probes", "proxy"), taken=())
    log = folder / "operator.log"
    command = _command(ports, folder)
    environment = {
        **os.environ,
        "KUBECONFIG": str(kubeconfig),
        "WATCH_NAMESPACE": namespace,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_GATHERING": "explicit",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait_until_ready(process, ports["probes"], log)
        yield log
    finally:
        terminate(process, _STOP_SECONDS)


def _command(ports: Mapping[str, int], folder: Path) -> list[str]:
    """The command line of this runner, or of the one that the environment names."""
    command = [_PEER] if _PEER else [sys.executable, "-m", "ansible_operator"]
    command += ["run", f"--health-probe-bind-address=127.0.0.1:{ports['probes']}"]
    command += ["--metrics-bind-address=0"]
    if _PEER:  # its kubeconfigs name its default port whatever the flag says
        return command
    own = [f"--proxy-port={ports['proxy']}", "--metrics-api-port=0"]
    return [*command, *own, f"--run-directory={folder / 'runs'}"]


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise DemoError(f"the operator is not ready: {last_words(log)}")


class Story:
    """Does one thing after another, and prints what is seen and after how many seconds."""

    def __init__(self, bed: testbed.TestBed) -> None:
        self._bed = bed
        self._begin = time.monotonic()

    def say(self, line: str) -> None:
        """Print a line with the time since the beginning."""
        click.echo(f"{time.monotonic() - self._begin:6.1f} s  {line}")

    def do(self, *command: str) -> None:
        """Run a kubectl command and print it."""
        self.say(f"$ kubectl {' '.join(command)}")
        self._bed.kubectl(*command)

    def show(self, *command: str) -> None:
        """Print a kubectl command and what it prints."""
        self.say(f"$ kubectl {' '.join(command)}")
        click.echo("".join(f"          {line}\n" for line in self._lines(command)), nl=False)

    def _lines(self, command: tuple[str, ...]) -> list[str]:
        return self._bed.kubectl(*command).splitlines()

    def await_that(
        self, what: str, look: Callable[[], bool], seconds: float = _STEP_SECONDS
    ) -> None:
        """Wait until something is seen.

        Raises:
            DemoError: it is not within so many seconds.
        """
        begin = time.monotonic()
        while not look():
            if time.monotonic() - begin > seconds:
                raise DemoError(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.05)
        self.say(f"{what} (after {time.monotonic() - begin:.1f} s)")

    def get(self, resource: str, *selection: str) -> Any:
        """Read objects as JSON; None when there are none."""
        text = self._bed.kubectl("get", resource, *selection, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text else None

    def nodes(self) -> list[str]:
        """What the status of the sample lists."""
        found = self.get("memcached", SAMPLE)
        return list(found.get("status", {}).get("nodes", [])) if found else []

    def replicas(self) -> int:
        """What the Deployment is asked for; -1 when there is none."""
        found = self.get("deployment", SAMPLE)
        return int(found["spec"]["replicas"]) if found else -1


def tell(story: Story) -> None:
    """Create, scale, disturb, delete."""
    story.do("apply", "-f", str(PROJECT / "config" / "samples" / "cache_v1alpha1_memcached.yaml"))
    story.await_that("3 pods are in status.nodes", lambda: len(story.nodes()) == 3)
    story.show("get", "memcached,deployment,pods")
    patch = json.dumps({"spec": {"size": 5}})
    story.do("patch", "memcached", SAMPLE, "--type=merge", "-p", patch)
    story.await_that("5 pods are in status.nodes", lambda: len(story.nodes()) == 5)
    story.do("scale", "deployment", SAMPLE, "--replicas=1")
    story.await_that("the Deployment is back at 5", lambda: story.replicas() == 5)
    story.await_that("5 pods are in status.nodes", lambda: len(story.nodes()) == 5)
    story.show(
        *("get", "memcached", SAMPLE, "-o"),
        'jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}',
    )
    story.do("delete", "memcached", SAMPLE, "--wait=false")
    story.await_that("the resource is deleted", lambda: story.get("memcached", SAMPLE) is None)
    story.show(
        *("get", "events", "--field-selector", "reason=Deleting"),
        *("-o", "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"),
    )
    story.await_that(
        "the Deployment is garbage-collected",
        lambda: story.get("deployment", SAMPLE) is None,
        _GARBAGE_SECONDS,
    )
    selector = f"--selector=memcached_cr={SAMPLE}"
    story.await_that("its pods are deleted", lambda: story.get("pods", selector) is None)


def _tell_or_quote(story: Story, log: Path) -> None:
    """Run the steps; on a failure, quote the operator's log, which is deleted afterwards."""
    story.say("the operator is ready")
    try:
        tell(story)
    except DemoError:
        click.echo(last_words(log, lines=30), err=True)
        raise


def main() -> None:
    """Run the demo; an expected error is one line and exit code 1."""
    end_as_by_ctrl_c()
    try:
        try:
            bed = testbed.up(_NAME, nodes="fake", progress=click.echo)
            with tempfile.TemporaryDirectory(prefix="memcached-") as folder:
                install(bed)
                kubeconfig = service_account_kubeconfig(bed, Path(folder))
                with running_operator(kubeconfig, Path(folder)) as log:
                    _tell_or_quote(Story(bed), log)
        finally:
            testbed.down(_NAME, progress=click.echo)
    except (testbed.TestBedError, DemoError) as error:
        click.echo(f"demo: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("\ndemo: interrupted", err=True)
        sys.exit(130)


if __name__ == "__main__":
    main()
