# SPDX-License-Identifier: Apache-2.0
"""Control groups of real nodes: below one of the test bed's own, in version 1 and 2."""

import contextlib
import os
import time
from pathlib import Path

from testbed.errors import StartError
from testbed.places import Places
from testbed.state import State

_ROOT = Path("/sys/fs/cgroup")
_REMOVE_SECONDS = 10.0
_POLL_SECONDS = 0.05


def of_node(state: State, node: str) -> str:
    """Return the path of a node's control group, as kubelet wants it."""
    return f"/{state.cgroup}/{node}"


def _hierarchies() -> list[Path]:
    """Return the root of each hierarchy: one in version 2, one per controller in version 1."""
    if (_ROOT / "cgroup.controllers").exists():
        return [_ROOT]
    # Combined controllers also have symbolic links.
    return [path for path in sorted(_ROOT.iterdir()) if path.is_dir() and not path.is_symlink()]


def _make(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for setting in ("cpuset.cpus", "cpuset.mems"):
        # In version 1, a group without its own processors and memory nodes accepts no process.
        own, given = folder / setting, folder.parent / setting
        if own.exists() and given.exists() and not own.read_text().strip():
            with contextlib.suppress(OSError):
                own.write_text(given.read_text())
    controllers = folder / "cgroup.controllers"
    if controllers.exists():
        for controller in controllers.read_text().split():
            # Some cannot be handed down; what kubelet needs and misses, it names itself.
            with contextlib.suppress(OSError):
                (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def _own_controllers(state: State) -> Path:
    return Places.of(state.name).root / "controllers"


def _hand_down(state: State) -> None:
    """Let groups below the root of version 2 have all controllers; note which ones had not."""
    switch = _ROOT / "cgroup.subtree_control"
    if not switch.exists():
        return
    available = (_ROOT / "cgroup.controllers").read_text().split()
    missing = [name for name in available if name not in switch.read_text().split()]
    with _own_controllers(state).open("a") as noted:
        noted.writelines(f"{name}\n" for name in missing)
    for name in missing:
        with contextlib.suppress(OSError):
            switch.write_text(f"+{name}")


def _take_back(state: State) -> None:
    """Undo `_hand_down`, unless these controllers are in use by now."""
    if not _own_controllers(state).exists():
        return
    for name in _own_controllers(state).read_text().split():
        with contextlib.suppress(OSError):
            (_ROOT / "cgroup.subtree_control").write_text(f"-{name}")


def make(state: State, node: str) -> None:
    """Make the control groups that a node's kubelet expects to find."""
    _hand_down(state)
    for hierarchy in _hierarchies():
        folder = hierarchy
        for part in (state.cgroup, node):
            folder /= part
            _make(folder)


def remove(state: State) -> None:
    """Remove the empty control groups that ended nodes leave.

    Raises:
        StartError: some are still in use after ten seconds.
    """
    deadline = time.monotonic() + _REMOVE_SECONDS
    left = [hierarchy / state.cgroup for hierarchy in _hierarchies()]
    while left := [root for root in left if not _removed(root)]:
        if time.monotonic() > deadline:
            raise StartError(f"control group {left[0]} is still in use")
        time.sleep(_POLL_SECONDS)
    _take_back(state)


def _removed(root: Path) -> bool:
    for folder, _, _ in os.walk(root, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError:  # a process in it is just ending
            return False
    return True
