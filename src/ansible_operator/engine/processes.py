# SPDX-License-Identifier: Apache-2.0
"""Processes that a run has started, children of children included, and how they are ended.

A run may leave its process group (Ansible's workers and asynchronous tasks do), so the tree is
followed through ``/proc``. A process is known by its id together with its start time: an id that
was given to somebody else is never signalled.
"""

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.02
_KILL_DEADLINE = 5.0
"""Seconds in which killed processes must be gone."""


class Process(NamedTuple):
    """One process: its id and the clock tick at which it started."""

    pid: int
    started: int


class ProcessTree:
    """A process and everything that ever descended from it, as far as it was seen."""

    def __init__(self, root: int) -> None:
        self._known: set[Process] = set()
        entry = _entry(Path("/proc", str(root)))
        if entry is not None:
            self._known.add(Process(root, entry[1]))

    def refresh(self) -> list[Process]:
        """Look for new descendants; answer the members that are alive (zombies are not)."""
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

    def send(self, number: signal.Signals) -> None:
        """Send a signal to every member that is alive."""
        for process in self.refresh():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


async def end_tree(tree: ProcessTree, *, grace: float) -> bool:
    """End all processes of a tree: SIGTERM, then after ``grace`` seconds SIGKILL.

    Returns:
        Whether none is left.
    """
    tree.send(signal.SIGTERM)
    if await _gone(tree, grace):
        return True
    deadline = time.monotonic() + _KILL_DEADLINE
    while time.monotonic() < deadline:
        tree.send(signal.SIGKILL)
        if await _gone(tree, _POLL):
            return True
    return False


def end_trees_now(trees: list[ProcessTree], *, grace: float) -> None:
    """End several trees as ``end_tree`` does, blocking."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, _KILL_DEADLINE)):
        for tree in trees:
            tree.send(number)
        deadline = time.monotonic() + seconds
        while any(tree.refresh() for tree in trees) and time.monotonic() < deadline:
            time.sleep(_POLL)


def become_subreaper() -> bool:
    """Make orphans among the descendants children of this process, where the kernel can."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


async def _gone(tree: ProcessTree, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while tree.refresh():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL)
    return True


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
