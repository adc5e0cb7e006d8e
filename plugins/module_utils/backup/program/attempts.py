# SPDX-License-Identifier: Apache-2.0
"""The attempts of a task: what each writes down about itself, and whether an earlier one runs.

A Job has one Pod at a time, so that a later attempt takes over at once. Nobody counts plays: a
play holds a socket of a name that no other process can have while it runs. Where that cannot be
looked at, as from another machine, an attempt that has not ended counts as running.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from ...api.owners import PLAYBOOK, Owner
from ...clients.objectstore.interface import ObjectStore
from ...ownership import marks, taking
from ...ownership.errors import Foreign
from ...ownership.marks import Mark
from ...ownership.taking import Hold
from ..task.tasks import Task
from .progress import Progress

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NETWORK: Final = Path("/proc/self/ns/net")


def owner_of(task: Task) -> Owner:
    """Return whose the target of a task is: a task without an owner is its own."""
    return replace(task.owner, uid=task.owner.uid or task.id)


def mark_of(task: Task, *, state: str = "", backup: str = "") -> Mark:
    """Return the mark of a new attempt of a task."""
    process = _machine() if task.owner.kind == PLAYBOOK else ""
    return Mark(owner_of(task), task.id, process=process, state=state, backup=backup)


@contextlib.contextmanager
def attempt(
    store: ObjectStore,
    mark: Mark,
    progress: Progress,
    *,
    base: str = marks.OWNER,
    own: Collection[str] = (),
    is_empty: bool = True,
    elsewhere: bool = False,
) -> Iterator[Hold]:
    """Have a store for as long as the block.

    Args:
        store: to take.
        mark: of this attempt.
        progress: of the task.
        base: of the mark's names.
        own: keys in the root that are known to be the owner's.
        is_empty: whether nothing else may be in the store, see `taking.take`.
        elsewhere: whether to take over what an attempt on another machine has begun.

    Raises:
        Foreign: somebody else has it, or an earlier attempt may still run.
        Contested: another attempt takes it at the same moment.
    """
    require_ended(store, base, elsewhere=elsewhere)
    with _running(mark):
        yield taking.take(store, mark, progress.sleep, base=base, own=own, is_empty=is_empty)


def note_conditions(hold: Hold, progress: Progress) -> None:
    """Let the task say that its store does not know conditional writes, where that is so."""
    if not hold.conditional:
        progress.note(
            f"{hold.store.name} does not know conditional writes (If-None-Match): two jobs on one "
            "target are kept apart by listings alone"
        )


def require_ended(store: ObjectStore, base: str = marks.OWNER, *, elsewhere: bool = False) -> None:
    """Return when the latest attempt in a store has ended, or is one of a Job.

    Args:
        store: to look at.
        base: of the mark's names.
        elsewhere: whether one on another machine counts as ended.

    Raises:
        Foreign: it runs, or may run.
    """
    _number, latest = marks.latest(store, base)
    if latest is None or not latest.process:
        return
    if latest.process != _machine():
        if elsewhere:
            return
        raise Foreign(
            f"{store.name} holds what {latest} has begun, on another machine; if that has ended, "
            "delete it first (state: absent)"
        )
    if _is_held(latest.nonce):
        raise Foreign(f"{store.name} is being written by {latest}")


def _machine() -> str:
    """Return what two processes have in common that see each other's sockets."""
    try:
        return f"{_BOOT.read_text().strip()}/{_NETWORK.readlink()}"
    except OSError:
        return f"{socket.gethostname()}/unknown"


@contextlib.contextmanager
def _running(mark: Mark) -> Iterator[None]:
    """Hold the socket of an attempt, so that others see that it runs."""
    if not mark.process:
        yield
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        with contextlib.suppress(OSError):  # without such names, nobody can look either
            held.bind(_name(mark.nonce))
        yield


def _is_held(nonce: str) -> bool:
    """Return whether a process has the socket of an attempt; True where that is not known."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.bind(_name(nonce))
    except OSError:
        return True
    return False


def _name(nonce: str) -> str:
    """Return a name in Linux' abstract namespace, which ends with the process."""
    return f"\0matrixone-attempt-{nonce}"
