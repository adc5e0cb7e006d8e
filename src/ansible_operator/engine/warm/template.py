# SPDX-License-Identifier: Apache-2.0
"""The template of the warm engine: Ansible loaded and played once; every run is a fork of it.

A template (``forking.template``) whose argument is JSON: ``roles``, directories, and ``checks``,
names of test plugins. Its forks serve either runs or checks.
"""

import functools
import json
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ansible_operator.engine.forking.frames import Kind, read_frame
from ansible_operator.engine.forking.processes import be_silent
from ansible_operator.engine.forking.template import Serve, run_template
from ansible_operator.engine.warm.job import Job, decoded
from ansible_operator.engine.warm.outbox import Outbox

if TYPE_CHECKING:
    from ansible_operator.engine.warm.events import EventRecorder


def _serve(
    connection: socket.socket,
    play: Callable[[socket.socket, Job], bool],
    check: Callable[[socket.socket, bytes], None],
    run_sockets: list[int],
) -> int:
    """Be a fork: do what the runner asks for until it closes the socket, or a run was the last."""
    run_sockets.append(connection.fileno())
    goes_on = True
    while goes_on:
        try:
            kind, body = read_frame(connection)
        except EOFError:
            return 0
        if kind is Kind.CHECK:
            check(connection, body)
        else:
            goes_on = play(connection, decoded(body))
    return 0


def _player() -> Callable[[socket.socket, Job], bool]:
    """What plays a job; it returns whether its process may play another."""
    # Imported late: these import Ansible, whose warm-up has happened by now.
    from ansible_operator.engine.patches.settings import Settings
    from ansible_operator.engine.warm import play, reuse
    from ansible_operator.engine.warm.events import EventRecorder

    settings = Settings()
    baseline_once = functools.cache(reuse.Baseline)

    def play_job(connection: socket.socket, job: Job) -> bool:
        baseline = baseline_once() if job.is_shared else None
        outbox = Outbox(connection)
        recorder = EventRecorder(job.ident, outbox.event)
        code = play.play(job, settings, recorder)
        leftovers = "it is the last run"
        if baseline is not None and _is_over(code, recorder):
            leftovers = baseline.restore()
        result = {
            "rc": code,
            "has_stats": recorder.has_stats,
            "leaves_behind": recorder.leaves_behind,
            "leftovers": leftovers,
        }
        outbox.result(json.dumps(result).encode())
        return not leftovers

    return play_job


def _is_over(code: int, recorder: "EventRecorder") -> bool:
    """Whether a run was successful, and nothing of it is still running."""
    return code == 0 and recorder.has_stats and not recorder.leaves_behind


def _checker(names: Sequence[str]) -> Callable[[socket.socket, bytes], None]:
    """What answers a question to a check.

    Raises:
        CannotStartError: a name means nothing.
    """
    from ansible_operator.engine.warm import check_plugins

    checks = check_plugins.find(names)
    silence_once = functools.cache(be_silent)

    def check(connection: socket.socket, body: bytes) -> None:
        silence_once()
        check_plugins.serve(connection, checks, body)

    return check


def _load_ansible(folder: Path, roles: list[Path], run_sockets: list[int]) -> str:
    """Import Ansible, apply the patches, play once.

    Returns:
        What did not work, though runs may; ``""`` when all did.
    """
    from ansible_operator.engine import patches

    patches.refuse_unknown()
    from ansible.plugins.loader import init_plugin_loader

    from ansible_operator.engine.warm import play, preload

    init_plugin_loader()
    play.prepare()
    patches.install(run_sockets, play.current_recorder)
    try:
        preload.preload(roles)
        patches.install_into_collections(folder)
        preload.warm_up(folder)
    except Exception as error:  # noqa: BLE001 (a project's settings may not suit the warm-up)
        traceback.print_exc()
        return f"{type(error).__name__}: {error}"
    return ""


def _load(folder: Path, arguments: Sequence[str]) -> tuple[Serve, str]:
    loaded = json.loads(arguments[0])
    # Plugins that inspect the program find the one that they expect.
    sys.argv = [str(Path(sys.executable).with_name("ansible-playbook"))]
    run_sockets: list[int] = []
    warning = _load_ansible(folder, [Path(role) for role in loaded["roles"]], run_sockets)
    check = _checker(loaded["checks"])
    serve = functools.partial(_serve, play=_player(), check=check, run_sockets=run_sockets)
    return serve, warning


if __name__ == "__main__":
    run_template(_load)
