# SPDX-License-Identifier: Apache-2.0
"""The operator as a background process of the demo: started once, found again, stopped."""

import http.client
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from testbed.ports import choose_ports
from testbed.processes import Launcher, find, kill, last_words

_NAME = "operator"
_START_SECONDS = 60.0
_STOP_SECONDS = 45.0


class OperatorError(Exception):
    """The operator did not start; the message quotes its log."""


def is_running(launcher: Launcher) -> bool:
    """Whether the operator that this launcher once started still runs."""
    process = find(launcher.places, _NAME)
    return process is not None and process.alive()


def require_running(launcher: Launcher) -> None:
    """Raise an error that quotes the operator's log when it has ended.

    Raises:
        OperatorError: it has.
    """
    if not is_running(launcher):
        message = f"the operator has ended: {last_words(launcher.log(_NAME))}"
        raise OperatorError(message)


def start(
    launcher: Launcher,
    project: Path,
    kubeconfig: Path,
    image: str,
    progress: Callable[[str], None],
) -> None:
    """Start the operator unless it runs, and wait until it says that it is ready.

    Args:
        launcher: its folder gets the records of the operator's runs.
        project: folder with ``watches.yaml`` and the collections.
        kubeconfig: the cluster.
        image: what Jobs of the operator run; empty if none is known.
        progress: told what happens.

    Raises:
        OperatorError: it ended, or was not ready in time.
    """
    if is_running(launcher):
        progress("operator: runs already")
        return
    ports = choose_ports(("probes", "proxy", "metrics", "metrics_api"), taken=())
    launcher.start(
        _NAME,
        [
            *(sys.executable, "-m", "ansible_operator", "run"),
            *("--watches-file", str(project / "watches.yaml"), "--ansible-verbosity", "0"),
            *("--health-probe-bind-address", f"127.0.0.1:{ports['probes']}"),
            *("--metrics-bind-address", f"127.0.0.1:{ports['metrics']}"),
            *("--proxy-port", str(ports["proxy"])),
            *("--metrics-api-port", str(ports["metrics_api"])),
            *("--run-directory", launcher.places.root / "runs"),
        ],
        env={
            "KUBECONFIG": str(kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(project / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
            "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108
            **({"OPERATOR_IMAGE": image} if image else {}),
        },
    )
    _wait_until_ready(launcher, ports["probes"])
    progress(f"operator: ready (log: {launcher.log(_NAME)})")


def _says_ready(probes: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", probes, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _wait_until_ready(launcher: Launcher, probes: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        require_running(launcher)
        if _says_ready(probes):
            return
        time.sleep(0.1)
    message = (
        f"the operator was not ready after {_START_SECONDS:.0f} s: "
        f"{last_words(launcher.log(_NAME))}"
    )
    raise OperatorError(message)


def stop(launcher: Launcher) -> None:
    """Ask the operator to stop; end it when it does not within its own deadline."""
    process = find(launcher.places, _NAME)
    if process is None or not process.alive():
        return
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while process.alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    kill(process)
