# SPDX-License-Identifier: Apache-2.0
"""Processes that play run after run, for watches that ask for it (``isolation: shared``).

Environment, folder, settings and variables are fresh in each run. What plugins and libraries keep
in globals stays: the author of such a watch vouches for it.
"""

import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Mapping

from ansible_operator.engine.patches import run_state, settings

_LARGEST_GROWTH = 16 * 1024
"""KiB that a process may have grown over its runs."""
_MOST_NEW_FILES = 64
"""Open files that runs may have left: Ansible's cache of facts leaves one open per write."""
_ENDING_SECONDS = 0.5
_LOOK_SECONDS = 0.005
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP, signal.SIGCHLD)


class Baseline:
    """What a process was like before its first run."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._settings = settings.snapshot()
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._folders = run_state.plugin_folders()
        self._files = _open_files()
        self._memory = _largest_memory()

    def restore(self) -> str:
        """Make the process ready for another run.

        Returns:
            Why it must not serve another one; ``""`` when it may.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.chdir("/")
        os.umask(self._umask)
        _set_environment(self._environment)
        settings.change(self._settings)
        run_state.forget()
        leftovers = {
            "threads": threading.active_count() > 1,
            "processes": _has_children(),
            "places of plugins": run_state.plugin_folders() != self._folders,
            "memory": _largest_memory() > self._memory + _LARGEST_GROWTH,
            "open files": _open_files() > self._files + _MOST_NEW_FILES,
        }
        return ", ".join(name for name, is_left in leftovers.items() if is_left)


def _set_environment(wanted: Mapping[str, str]) -> None:
    """Set just what differs: each variable that is set costs calls of the C library."""
    now = dict(os.environ)
    for name in now.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if now.get(name) != value:
            os.environ[name] = value


def _has_children() -> bool:
    """Whether there are processes of the run; its workers get a moment to end.

    Ansible has the result of its last task before the worker has ended, and does not wait for it.
    """
    deadline = time.monotonic() + _ENDING_SECONDS
    while True:
        multiprocessing.active_children()  # reaps workers that have ended
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if time.monotonic() > deadline:
            return True
        time.sleep(_LOOK_SECONDS)


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 (only their number is needed)


def _largest_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
