# SPDX-License-Identifier: Apache-2.0
"""Processes that a run has started, children of children included, and how they are ended.

A run may leave its process group (Ansible's workers and asynchronous tasks do), so the tree is
followed through ``/proc``. A process is known by its id together with its start time: an id that
was reused is never signalled.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.02
_STOP_DEADLINE = 1.0
"""Seconds in which a stopped root stands still, and in which a tree that is killed at once goes."""
_KILL_DEADLINE = 5.0
"""Seconds in which killed processes must have exited."""


class Process(NamedTuple):
    """One process: its id and the clock tick at which it started."""

    pid: int
    started: int


class ProcessTree:
    """A process and everything that descends from it.

    The root adopts its orphans (``become_subreaper``), so nothing leaves the tree while it lives.
    """

    def __init__(self, root: int) -> None:
        entry = _entry(Path("/proc", str(root)))
        self._root = Process(root, entry[1] if entry else -1)
        self._known = {self._root}

    def refresh(self) -> list[Process]:
        """Find new descendants; return the members that are alive (zombies are not)."""
        table = _table()
        alive = {p for p in self._known if (e := table.get(p.pid)) and e[1] == p.started}
        pids = {p.pid for p in alive}
        while True:
            new = {
                Process(pid, started)
                for pid, (parent, started, _) in table.items()
                if parent in pids and pid not in pids
            }
            if not new:
                break
            alive |= new
            pids |= {p.pid for p in new}
        self._known |= alive
        return [p for p in alive if table[p.pid][2] not in "ZX"]

    def adopt(self, variable: str, value: str) -> None:
        """Add the programs that were started with this environment variable."""
        self._known.update(_having(variable, value))

    def descendants(self) -> list[Process]:
        """The members that are alive, without the root."""
        return [process for process in self.refresh() if process != self._root]

    def is_root_running(self) -> bool:
        """Whether the root is alive and not stopped."""
        entry = _entry(Path("/proc", str(self._root.pid)))
        return entry is not None and entry[1] == self._root.started and entry[2] not in "TtZX"

    def send_root(self, number: signal.Signals) -> None:
        """Send a signal to the root, if it is alive."""
        entry = _entry(Path("/proc", str(self._root.pid)))
        if entry is not None and entry[1] == self._root.started:
            _send([self._root], number)


def is_anyone_with(variable: str, value: str) -> bool:
    """Whether a program runs that was started with this environment variable."""
    return any(True for _ in _having(variable, value))


def _having(variable: str, value: str) -> Iterator[Process]:
    marker = f"{variable}={value}".encode()
    for pid, (_, started, _) in _table().items():
        with contextlib.suppress(OSError):
            if marker in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield Process(pid, started)


async def end_tree(tree: ProcessTree, *, grace: float) -> bool:
    """End all processes of a tree: SIGTERM, then after ``grace`` seconds SIGKILL.

    Returns:
        Whether none is left.
    """
    for _ in _ending([tree], grace):
        await asyncio.sleep(_POLL)
    return not tree.refresh()


def kill_tree(tree: ProcessTree) -> None:
    """Kill all processes of a tree at once, the root last; blocks for ``_STOP_DEADLINE`` at most.

    One look is not enough: what a process starts between the look and its signal is an orphan then.
    """
    tree.send_root(signal.SIGSTOP)
    for _ in _while(lambda: _kill_descendants([tree]), _STOP_DEADLINE):
        time.sleep(_POLL)
    tree.send_root(signal.SIGKILL)


def end_trees_now(trees: list[ProcessTree], *, grace: float) -> None:
    """End several trees as ``end_tree`` does, blocking."""
    for _ in _ending(trees, grace):
        time.sleep(_POLL)


def _ending(trees: list[ProcessTree], grace: float) -> Iterator[None]:
    """End trees; yields when it is time to wait a little.

    The roots are stopped first and end last: a stopped root starts nothing new and keeps its
    orphans, so that none is missed.
    """
    for tree in trees:
        tree.send_root(signal.SIGSTOP)
    yield from _while(lambda: any(tree.is_root_running() for tree in trees), _STOP_DEADLINE)
    for tree in trees:
        _send(tree.descendants(), signal.SIGTERM)
    yield from _while(lambda: any(tree.descendants() for tree in trees), grace)
    yield from _while(lambda: _kill_descendants(trees), _KILL_DEADLINE)
    for tree in trees:
        tree.send_root(signal.SIGKILL)
    yield from _while(lambda: any(tree.refresh() for tree in trees), _KILL_DEADLINE)


def _kill_descendants(trees: list[ProcessTree]) -> bool:
    """Kill what is alive below the roots; returns whether there was anything."""
    found = [process for tree in trees for process in tree.descendants()]
    _send(found, signal.SIGKILL)
    return bool(found)


def _while(condition: Callable[[], bool], seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while condition() and time.monotonic() < deadline:
        yield


def _send(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def become_subreaper() -> bool:
    """Make orphans among the descendants children of this process, where the kernel can."""
    return _control(_PR_SET_CHILD_SUBREAPER, 1)


def bury(pid: int) -> None:
    """Reap a fork whose parent died and that may have become a child of this process."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def be_silent() -> None:
    """Discard what this process prints: nothing reads it, and a file would grow without limit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def die_with(parent: int) -> None:
    """End this process when its parent ends."""
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _control(option: int, value: int) -> bool:
    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _table() -> dict[int, tuple[int, int, str]]:
    """All processes: id → (parent id, start time in ticks, state)."""
    table = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        found = _entry(Path(entry.path))
        if found is not None:
            table[int(entry.name)] = found
    return table


def _entry(folder: Path) -> tuple[int, int, str] | None:
    try:
        stat = (folder / "stat").read_bytes()
    except OSError:
        return None
    # The program's name, in parentheses, may hold anything.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return int(fields[1]), int(fields[19]), fields[0].decode()
