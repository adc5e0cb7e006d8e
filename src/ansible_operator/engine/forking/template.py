# SPDX-License-Identifier: Apache-2.0
"""The template's own side: loads once, then forks whenever the runner asks.

A template is started as ``python -m MODULE CONTROL FOLDER ARGUMENT...`` where CONTROL is the number
of an inherited socket and FOLDER its private folder. It has no threads, so a fork is safe. When
the runner exits, the socket ends; then the template ends its forks and itself.
"""

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from ansible_operator.engine.forking.frames import LARGEST_PACKET, packet
from ansible_operator.engine.forking.processes import (
    ProcessTree,
    become_subreaper,
    end_trees_now,
)

Serve: TypeAlias = Callable[[socket.socket], int]
"""What a fork does with its socket; returns its exit code."""

_GRACE = 2.0
"""Seconds that forks get to end when the runner has exited."""
_LONGEST_ERROR = 4000
"""Characters of an error that fit into a packet."""


class CannotStartError(Exception):
    """A template cannot do what it is started for; the message says all that a user needs."""


def run_template(load: Callable[[Path, Sequence[str]], tuple[Serve, str]]) -> NoReturn:
    """Load, report to the runner, and fork until it exits.

    Args:
        load: gets the folder and the arguments; returns what forks do and a warning about what
            did not work, ``""`` when all did.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    folder, arguments = Path(sys.argv[2]), sys.argv[3:]
    become_subreaper()
    try:
        serve, warning = load(folder, arguments)
    except CannotStartError as error:
        _fail(control, str(error))
    except Exception as error:  # noqa: BLE001 (the boundary: the runner reports it to the user)
        traceback.print_exc()
        _fail(control, f"{type(error).__name__}: {error}")
    _Template(control, serve).run(warning)
    # The runner removes the folder, too, unless it was killed.
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _fail(control: socket.socket, message: str) -> NoReturn:
    control.send(packet({"failed": message[:_LONGEST_ERROR]}))
    os._exit(1)


class _Template:
    """Forks on request and reaps.

    Args:
        control: the runner's socket.
        serve: what a fork does.
    """

    def __init__(self, control: socket.socket, serve: Serve) -> None:
        self._control = control
        self._serve = serve
        self._forks: dict[int, int] = {}
        self._wake, self._wake_write = os.pipe()
        for descriptor in (self._wake, self._wake_write):
            os.set_blocking(descriptor, False)

    def run(self, warning: str) -> None:
        """Fork until the runner exits."""
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        # A collection in a fork would write to, and so copy, every page with objects on it.
        gc.collect()
        gc.freeze()
        self._send({"ready": True, "warning": warning})
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wake, select.POLLIN)
        while True:
            for descriptor, _ in poller.poll():
                if descriptor == self._wake:
                    self._reap()
                elif not self._receive():
                    end_trees_now([ProcessTree(pid) for pid in self._forks], grace=_GRACE)
                    return

    def _receive(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, LARGEST_PACKET, 1)
        if not data:
            return False
        number = json.loads(data)["run"]
        connection = socket.socket(fileno=descriptors[0])
        try:
            pid = os.fork()
        except OSError as error:
            connection.close()
            self._send({"refused": number, "reason": str(error)})
            return True
        if pid == 0:
            self._be_fork(connection)
        connection.close()
        self._forks[pid] = number
        self._send({"started": number, "pid": pid})
        return True

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            number = self._forks.pop(pid, None)
            if number is not None:
                self._send({"ended": number, "code": os.waitstatus_to_exitcode(status)})

    def _send(self, message: dict[str, object]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(packet(message))

    def _be_fork(self, connection: socket.socket) -> NoReturn:
        code = 1
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            self._control.close()
            os.close(self._wake)
            os.close(self._wake_write)
            become_subreaper()
            code = self._serve(connection)
        except BaseException:  # noqa: BLE001 (nothing may reach the template's loop)
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
