# SPDX-License-Identifier: Apache-2.0
"""How the process ends: truthfully, in time, with the contract's exit codes."""

import json
import signal
import time
from pathlib import Path

import pytest

from ansible_operator.engine import KINDS
from tests.runner.operator.conftest import Cluster, Start, definition, fetch
from tests.support.operators import Operator
from tests.support.ports import free_port
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def running(operator: Operator, name: str) -> Operator:
    """Wait until the play of an object is under way."""
    eventually(lambda: operator.lines("[playbook task start]", name=name))
    time.sleep(0.5)
    return operator


def processes(marker: str) -> list[str]:
    """Command lines on this machine that hold a text."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


def test_a_run_that_ends_in_time_reports_its_success(cluster: Cluster, start: Start) -> None:
    """After Ctrl-C, too, which is handled as SIGTERM is."""
    operator = start(cluster.name)
    cluster.create("Slow", "in-time", {"behave": "sleep", "seconds": 3})
    running(operator, "in-time")
    assert operator.stop(signal.SIGINT) == 0
    conditions = cluster.conditions("slows", "in-time")
    assert conditions["Successful"]["status"] == "True"
    assert operator.lines("Exiting.")
    cluster.kubectl("delete", "slows", "in-time")


def test_a_run_that_takes_too_long_is_ended_and_reported(cluster: Cluster, start: Start) -> None:
    operator = start(cluster.name, "--graceful-shutdown-timeout=1s")
    cluster.create("Slow", "late", {"behave": "sleep", "seconds": 7001})
    running(operator, "late")
    began = time.monotonic()
    assert operator.stop() == 0
    assert time.monotonic() - began < 15
    conditions = cluster.conditions("slows", "late")
    assert conditions["Running"]["status"] == "False"
    assert "stopped before the run had ended" in conditions["Failure"]["message"]
    assert processes("sleep 7001") == []
    cluster.kubectl("delete", "slows", "late")


@pytest.mark.parametrize("engine", KINDS)
def test_the_second_signal_ends_the_process_at_once(
    cluster: Cluster, start: Start, tmp_path: Path, engine: str
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    operator = start(cluster.name, f"--engine={engine}", TMPDIR=str(private))
    cluster.create("Slow", "stubborn", {"behave": "sleep", "seconds": 8101})
    running(operator, "stubborn")
    assert list(private.glob("ansible-operator-*"))
    operator.process.send_signal(signal.SIGTERM)
    eventually(lambda: operator.lines("Stopping"))
    assert operator.stop(seconds=5) == 1
    eventually(lambda: not list(private.glob("ansible-operator-*")))
    eventually(lambda: not processes("sleep 8101"))
    cluster.kubectl("delete", "slows", "stubborn")


def test_a_kind_that_is_not_served_is_reported(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    watches = tmp_path / "watches.yaml"
    watches.write_text("- {group: no.example.com, version: v1, kind: Nothing, role: probe}")
    operator = start(cluster.name, f"--watches-file={watches}")
    told = "Kind is not served: is its CRD installed?"
    assert eventually(lambda: operator.lines(told))[0]["gvk"] == "no.example.com/v1, Kind=Nothing"
    assert operator.stop() == 0


def test_a_kind_whose_definition_is_late_holds_up_no_other(
    cluster: Cluster, start: Start, tmp_path: Path
) -> None:
    watches, port = tmp_path / "watches.yaml", free_port()
    watches.write_text(
        "- {group: runner.example.com, version: v1alpha1, kind: Probe, role: probe}\n"
        "- {group: runner.example.com, version: v1alpha1, kind: Tardy, role: probe,\n"
        "   references: [{version: v1, kind: ConfigMap, name: spec.text}]}\n"
    )
    flags = (f"--watches-file={watches}", f"--health-probe-bind-address=127.0.0.1:{port}")
    operator = start(cluster.name, *flags)
    cluster.create("Probe", "early", {"behave": "succeed"})
    cluster.wait_for("probes", "early", "Successful")
    assert fetch(port, "/readyz")[0] == 500
    late = json.dumps(definition("tardies.runner.example.com", "Tardy"))
    try:
        cluster.bed.kubectl("apply", "--server-side", "-f", "-", input=late)
        cluster.kubectl("wait", "--for=condition=Established", "crd/tardies.runner.example.com")
        cluster.create("Tardy", "late", {"behave": "succeed", "text": "named"})
        cluster.wait_for("tardies", "late", "Successful")
        assert fetch(port, "/readyz")[0] == 200
        runs = operator.runs_of("late")
        cluster.kubectl("create", "configmap", "named")
        eventually(lambda: operator.runs_of("late") > runs)
    finally:
        cluster.kubectl("delete", "crd", "tardies.runner.example.com")


def has_begun_to_load(operator: Operator) -> bool:
    """Whether our own code runs: the interpreter loads none of this for itself."""
    return "_asyncio." in Path(f"/proc/{operator.process.pid}/maps").read_text()


@pytest.mark.parametrize("moment", [0, 0.3, 0.8, 1.5, 2.5])
def test_ctrl_c_at_any_moment_ends_quietly(
    cluster: Cluster, start: Start, tmp_path: Path, moment: float
) -> None:
    operator = start(cluster.name, TMPDIR=str(tmp_path))
    eventually(lambda: has_begun_to_load(operator))
    time.sleep(moment)
    assert operator.stop(signal.SIGINT, seconds=40) in {0, -signal.SIGINT}
    assert "Traceback" not in operator.text()
    eventually(lambda: not list(tmp_path.iterdir()))
