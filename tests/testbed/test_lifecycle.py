# SPDX-License-Identifier: Apache-2.0
"""Test beds come up and go away without a trace, whatever happens in between."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import testbed
from testbed.processes import find
from tests.testbed import traces

pytestmark = pytest.mark.api


def kill_up_after(seconds: float, state: Path, *options: str) -> None:
    """Start `testbed up` and kill it, and only it, after a while."""
    process = subprocess.Popen(
        [sys.executable, "-m", "testbed", "up", "--name=victim", *options],
        env={**os.environ, "TESTBED_STATE": str(state)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_up_again_is_quick_and_changes_nothing(own_state: Path) -> None:
    """A second `up` finds everything running and starts nothing."""
    first = testbed.up("again")
    pids = {process.name: process.pid for process in testbed.status("again").running}
    begun = time.monotonic()
    second = testbed.up("again")
    assert time.monotonic() - begun < 2
    assert {process.name: process.pid for process in testbed.status("again").running} == pids
    assert second.state == first.state
    assert testbed.status("again").healthy


def test_down_leaves_nothing(own_state: Path) -> None:
    """No process, interface, control group or folder of a test bed outlives `down`."""
    before = traces.system()
    bed = testbed.up("gone")
    found = traces.of(bed.state.identity, own_state)
    assert found["processes"], "the search finds what runs"
    assert testbed.down("gone")
    assert traces.none(traces.of(bed.state.identity, own_state))
    assert traces.system() == before
    assert not testbed.down("gone")


def test_two_side_by_side(own_state: Path) -> None:
    """What is made in one test bed is not seen in another, and one goes without the other."""
    one, two = testbed.up("one"), testbed.up("two")
    assert not set(one.state.ports.values()) & set(two.state.ports.values())
    one.kubectl("create", "namespace", "only-here")
    assert "only-here" not in two.kubectl("get", "namespaces")
    testbed.down("one")
    assert testbed.names() == ["two"]
    assert testbed.status("two").healthy
    assert "node-2" in two.kubectl("get", "nodes")


def test_ended_process_comes_back(own_state: Path) -> None:
    """`status` tells what has ended, and `up` starts that and leaves the rest alone."""
    bed = testbed.up("hurt")
    kwok, etcd = (find(bed.places, name) for name in ("kwok", "etcd"))
    assert kwok
    os.kill(kwok.pid, signal.SIGKILL)
    while kwok.alive():
        time.sleep(0.01)
    assert [process.name for process in testbed.status("hurt").ended] == ["kwok"]
    testbed.up("hurt")
    assert testbed.status("hurt").healthy
    assert find(bed.places, "etcd") == etcd
    assert find(bed.places, "kwok") != kwok


@pytest.mark.parametrize("seconds", [0.25, 0.6, 1.2, 2.5])
def test_killed_up_then_down(own_state: Path, seconds: float) -> None:
    """`down` clears what an `up` had begun that was killed at any moment."""
    kill_up_after(seconds, own_state)
    states = testbed.names()
    identity = testbed.get("victim").state.identity if states else "none was recorded"
    testbed.down("victim")
    assert traces.none(traces.of(identity, own_state))


def test_killed_up_then_up(own_state: Path) -> None:
    """`up` goes on where a killed one was."""
    kill_up_after(0.7, own_state)
    bed = testbed.up("victim")
    assert testbed.status("victim").healthy
    assert "Ready" in bed.kubectl("get", "nodes")


def test_other_kind_is_refused(own_state: Path) -> None:
    """A test bed of another size is not silently taken for the wanted one."""
    testbed.up("small", node_count=1)
    with pytest.raises(testbed.TestBedError, match="take it down first"):
        testbed.up("small", node_count=2)


def test_port_taken_meanwhile(own_state: Path) -> None:
    """A port that somebody else has taken is named, with what to do."""
    bed = testbed.up("ports")
    for process in testbed.status("ports").running:
        os.kill(process.pid, signal.SIGKILL)
        while process.alive():
            time.sleep(0.01)
    listener = subprocess.Popen(
        [sys.executable, "-m", "http.server", "--bind=127.0.0.1", str(bed.state.ports["etcd"])],
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(0.5)
        with pytest.raises(testbed.StartError, match=f"port {bed.state.ports['etcd']} is taken"):
            testbed.up("ports")
    finally:
        listener.kill()
        listener.wait()
