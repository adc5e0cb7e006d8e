# SPDX-License-Identifier: Apache-2.0
"""Trees of processes: none is left when one is killed, whatever starts meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from ansible_operator.engine.forking.processes import Process, ProcessTree, kill_tree
from ansible_operator.engine.runner_package import _LEADER
from tests.support.waiting import eventually

FORKS_ON_SIGNAL = """
import os, signal, time
def fork(*_):
    if os.fork() == 0:
        time.sleep(600)
signal.signal(signal.SIGUSR1, fork)
if os.fork() == 0:
    while True:
        time.sleep(600)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
os.waitpid(-1, 0)
"""


@pytest.fixture
def root() -> Iterator[int]:
    """The id of a process whose child forks once more at SIGUSR1."""
    command = [sys.executable, "-I", "-S", str(_LEADER), sys.executable, "-c", FORKS_ON_SIGNAL]
    with subprocess.Popen(command) as process:
        eventually(lambda: ProcessTree(process.pid).descendants(), 10)
        time.sleep(0.2)
        yield process.pid
        process.kill()


class LateTree(ProcessTree):
    """Its descendants fork after they were looked at for the first time."""

    def __init__(self, root: int) -> None:
        super().__init__(root)
        self.all = ProcessTree(root)
        self.looks = 0

    def descendants(self) -> list[Process]:
        found = super().descendants()
        self.looks += 1
        if self.looks == 1:
            for process in found:
                os.kill(process.pid, signal.SIGUSR1)
            eventually(lambda: len(self.all.descendants()) > len(found), 10)
        return found


def test_what_starts_between_the_look_and_the_kill_is_killed_too(root: int) -> None:
    tree = LateTree(root)
    kill_tree(tree)
    assert not tree.all.descendants()
    assert tree.looks > 1
