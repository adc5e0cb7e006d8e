# SPDX-License-Identifier: Apache-2.0
"""The template process: Ansible loaded and played once; every run is a fork of it.

Started by the runner as ``python -m ansible_operator.engine.warm.template CONTROL FOLDER LOADED``
where CONTROL is the number of an inherited socket and LOADED is JSON: ``roles``, directories, and
``checks``, names of test plugins. It has no threads, so a fork is safe. When
the runner goes, the socket ends; then the template ends its forks and itself.
"""

import contextlib
import functools
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ansible_operator.engine.forking import frames as wire
from ansible_operator.engine.forking.processes import (
    ProcessTree,
    be_silent,
    become_subreaper,
    end_trees_now,
)
from ansible_operator.engine.warm.job import CheckMissingError, Job

if TYPE_CHECKING:
    from ansible_operator.engine.warm.events import EventRecorder

_GRACE = 2.0
"""Seconds that runs get to end when the runner has gone."""


class Template:
    """Forks on request and reaps.

    Args:
        control: the runner's socket.
        run: what a fork does with its own socket; its answer is the exit code.
    """

    def __init__(self, control: socket.socket, run: Callable[[socket.socket], int]) -> None:
        self._control = control
        self._run = run
        self._runs: dict[int, int] = {}
        self._wake, wake_write = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(wake_write, False)
        self._wake_write = wake_write

    def serve(self, warning: str) -> None:
        """Fork until the runner goes.

        Args:
            warning: what did not work while loading; the runner logs it.
        """
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
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
                    trees = [ProcessTree(pid) for pid in self._runs]
                    end_trees_now(trees, grace=_GRACE)
                    return

    def _receive(self) -> bool:
        data, descriptors, _, _ = socket.recv_fds(self._control, wire.LARGEST_PACKET, 1)
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
            self._be_run(connection)
        connection.close()
        self._runs[pid] = number
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
            number = self._runs.pop(pid, None)
            if number is not None:
                self._send({"ended": number, "code": os.waitstatus_to_exitcode(status)})

    def _send(self, message: dict[str, object]) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.send(wire.packet(message))

    def _be_run(self, connection: socket.socket) -> NoReturn:
        """Become a run; does not return."""
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
            code = self._run(connection)
        except BaseException:  # noqa: BLE001 (nothing may reach the template's loop)
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)


def _run(
    connection: socket.socket,
    serve: Callable[[socket.socket, Job], bool],
    rehearse: Callable[[socket.socket], bool],
    check: Callable[[socket.socket, bytes], None],
) -> int:
    """Serve one run or check after the other, until the runner wants no more or one leaves traces.

    A process serves either runs or checks.
    """
    goes_on = True
    while goes_on:
        try:
            kind, body = wire.read_frame(connection)
        except EOFError:
            return 0
        if kind is wire.Kind.CHECK:
            check(connection, body)
        elif kind is wire.Kind.REHEARSAL:
            goes_on = rehearse(connection)
        else:
            goes_on = serve(connection, Job(**json.loads(body)))
    return 0


def _server(
    run_sockets: list[int], folder: Path
) -> tuple[Callable[[socket.socket, Job], bool], Callable[[socket.socket], bool]]:
    """What plays a job, and what plays the warm-up; each tells if the process can serve another."""
    # Imported late: these import Ansible, whose warm-up has happened by now.
    from ansible_operator.engine.warm import play, preload
    from ansible_operator.engine.warm.events import EventRecorder
    from ansible_operator.engine.warm.slate import Slate

    settings, slate = play.Settings(), Slate()

    def begin(connection: socket.socket) -> None:
        if not run_sockets:
            run_sockets.append(connection.fileno())
            slate.begin()

    def serve(connection: socket.socket, job: Job) -> bool:
        begin(connection)
        outbox = wire.Outbox(connection)
        recorder = EventRecorder(job.ident, outbox.event)
        code = play.play(job, settings, recorder)
        leftovers = slate.wipe() if job.keeps and _is_over(code, recorder) else "not looked for"
        result = {
            "rc": code,
            "has_stats": recorder.has_stats,
            "leaves_behind": recorder.leaves_behind,
            "leftovers": leftovers,
        }
        outbox.result(json.dumps(result).encode())
        return not leftovers

    def rehearse(connection: socket.socket) -> bool:
        begin(connection)
        preload.rehearse(folder)
        leftovers = slate.wipe()
        wire.Outbox(connection).result(leftovers.encode())
        return not leftovers

    return serve, rehearse


def _checker(names: list[str]) -> Callable[[socket.socket, bytes], None]:
    """What answers the question to a check.

    Raises:
        CheckMissingError: a name means nothing.
    """
    from ansible_operator.engine.warm import checking

    checks = checking.find(names)
    silence_once = functools.cache(be_silent)

    def check(connection: socket.socket, body: bytes) -> None:
        silence_once()
        checking.serve(connection, checks, body)

    return check


def _is_over(code: int, recorder: "EventRecorder") -> bool:
    """Whether a run came to a good end, and nothing of it goes on."""
    return code == 0 and recorder.has_stats and not recorder.leaves_behind


def _load(folder: Path, roles: list[Path], run_sockets: list[int]) -> str:
    """Import Ansible, change what the engine changes, play once.

    Returns:
        What did not work, though runs may; ``""`` when all did.
    """
    from ansible.executor.task_queue_manager import TaskQueueManager
    from ansible.plugins.loader import init_plugin_loader
    from ansible.utils.display import Display

    from ansible_operator.engine.patches import (
        discovery_cache,
        modules,
        plugin_searches,
        strategy,
    )
    from ansible_operator.engine.patches import (
        versions as ansible_versions,
    )
    from ansible_operator.engine.warm import events, play, preload, read_ahead

    init_plugin_loader()
    ansible_versions.censor_failures()
    play.prepare()
    events.record_display(Display, play.current_recorder)
    events.record_callbacks(TaskQueueManager, play.current_recorder)
    modules.install(run_sockets)
    strategy.install()
    read_ahead.install()
    plugin_searches.install()
    try:
        preload.read_documentation_once()
        preload.preload(roles)
        discovery_cache.share(folder)
        preload.warm_up(folder)
    except Exception as error:  # noqa: BLE001 (a project's settings may not suit the warm-up)
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    """Load, tell the runner, serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    folder, loaded = Path(sys.argv[2]), json.loads(sys.argv[3])
    # Plugins that look find the program that they expect.
    sys.argv = [str(Path(sys.executable).with_name("ansible-playbook"))]
    become_subreaper()
    run_sockets: list[int] = []
    try:
        warning = _load(folder, [Path(role) for role in loaded["roles"]], run_sockets)
        check = _checker(loaded["checks"])
    except CheckMissingError as error:
        control.send(wire.packet({"failed": str(error)}))
        os._exit(1)
    except Exception as error:  # noqa: BLE001 (the boundary: the runner tells the user)
        traceback.print_exc()
        control.send(wire.packet({"failed": f"{type(error).__name__}: {error}"[:4000]}))
        os._exit(1)
    serve, rehearse = _server(run_sockets, folder)
    run = functools.partial(_run, serve=serve, rehearse=rehearse, check=check)
    Template(control, run).serve(warning)
    # The runner removes the folder, too, unless it was killed.
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
