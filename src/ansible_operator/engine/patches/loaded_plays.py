# SPDX-License-Identifier: Apache-2.0
"""Plays of roles kept from run to run of a process, for watches with ``isolation: shared``.

A run of a role plays a generated playbook, which says the same each time. Ansible builds the
objects of all its tasks anew, for a tenth of a small play's time. They are built once, and Ansible
copies them before it plays them; what it does change is as it was when they were loaded. The
loader and the variable manager, which all of them refer to, are initialized anew for each run.

Not kept is what another run might load otherwise: static imports whose names are templates,
dependencies of roles, and whatever has printed something, a warning for instance, which belongs to
the output of each run. Any change in the folder of a role has its plays loaded again.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.playbook.block import Block
from ansible.playbook.role import Role
from ansible.playbook.task_include import TaskInclude
from ansible.utils.vars import get_unique_id
from ansible.vars.manager import VariableManager

from ansible_operator.engine.patches.copies import isolated
from ansible_operator.engine.patches.recording import Recorder
from ansible_operator.engine.patches.role_files import States, state_of, states_read

_TASK_FOLDERS = ("tasks", "handlers", "vars", "defaults", "meta")
_MARK = "{"
"""What every template holds, whatever marks are configured but for the most unusual."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What two runs that load the same play have in common.

    Attributes:
        text: of the playbook.
        roles_path: where its role is looked for.
        verbosity: loading prints more with a higher one.
    """

    text: str
    roles_path: str
    verbosity: int


@dataclass(frozen=True, slots=True)
class KeptPlay:
    """A loaded playbook with one play.

    Attributes:
        loader: that the objects of the playbook refer to.
        variables: the variable manager that they refer to.
    """

    loader: DataLoader
    variables: VariableManager
    playbook: Any
    fields: list[tuple[Any, dict[str, Any]]]
    tasks: list[Any]
    files: States

    def is_current(self) -> bool:
        """Whether no file has changed since."""
        return all(state_of(path) == state for path, state in self.files.items())

    def again(self, file_name: str) -> Any:
        """The playbook as if it had just been loaded, from this file."""
        for thing, fields in self.fields:
            vars(thing).clear()
            vars(thing).update(isolated(fields))
        for thing in (*self.playbook._entries, *self.tasks):
            thing._uuid = get_unique_id()
        self.playbook._file_name = file_name
        self.playbook._basedir = str(Path(file_name).parent)
        return self.playbook


_kept: dict[_Key, KeptPlay] = {}
_asked_for: list[_Key] = []
"""What the current run loads, if that may be kept."""


def begin(
    playbook: str, environment: Mapping[str, str], verbosity: int
) -> tuple[DataLoader, VariableManager]:
    """Begin a run of a generated playbook.

    Returns:
        The loader and the variable manager that it is to use, neither of them initialized.
    """
    text, roles_path = Path(playbook).read_text(), environment.get("ANSIBLE_ROLES_PATH", "")
    key = _Key(text, roles_path, verbosity)
    _asked_for[:] = [key]
    kept = _kept.get(key)
    if kept is not None and kept.is_current():
        return kept.loader, kept.variables
    _kept.pop(key, None)
    return readers()


def readers() -> tuple[DataLoader, VariableManager]:
    """A loader and a variable manager, neither of them initialized."""
    return DataLoader.__new__(DataLoader), VariableManager.__new__(VariableManager)


def end() -> None:
    """End a run: what is loaded from now on is not kept."""
    _asked_for.clear()


def install(recorder: Callable[[], Recorder | None]) -> None:
    """Have Ansible use what it has loaded before."""
    stock = Playbook.load

    def load(file_name: str, variable_manager: Any = None, loader: Any = None) -> Any:
        key = _asked_for.pop() if _asked_for else None
        kept = _kept.get(key) if key else None
        if kept is not None and kept.loader is loader:
            return kept.again(file_name)
        if key is None:
            return stock(file_name, variable_manager=variable_manager, loader=loader)
        before = _printed(recorder())
        with _roles_made() as roles, states_read() as files:
            playbook = stock(file_name, variable_manager=variable_manager, loader=loader)
        if _printed(recorder()) == before and _is_same_for_all(playbook, roles):
            files.pop(file_name, None)
            paths = (*_folders(key), *(path for role in roles for path in _paths(role._role_path)))
            files = {path: state_of(path) for path in paths} | files
            _kept[key] = _keep(loader, variable_manager, playbook, roles, files)
        return playbook

    Playbook.load = staticmethod(load)


def _keep(
    loader: DataLoader, variables: VariableManager, playbook: Any, roles: list[Any], files: States
) -> KeptPlay:
    return KeptPlay(
        loader,
        variables,
        playbook,
        [(thing, isolated(vars(thing))) for thing in (*playbook._entries, *roles)],
        [task for role in roles for task in _tasks(_blocks(role))],
        files,
    )


def _is_same_for_all(playbook: Any, roles: list[Any]) -> bool:
    """Whether every run would load just this."""
    if len(playbook._entries) != 1 or playbook._entries[0].handlers:
        return False
    if any(role._dependencies for role in roles):
        return False
    imports = (one for role in roles for one in _imports(_tasks(_blocks(role))))
    return not any(_MARK in str(value) for one in imports for value in one.args.values())


def _blocks(role: Any) -> list[Any]:
    return [*role._task_blocks, *role._handler_blocks]


def _tasks(blocks: list[Any]) -> Iterator[Any]:
    """Blocks and the tasks in them, all the way down."""
    for block in blocks:
        yield block
        if isinstance(block, Block):
            yield from _tasks([*block.block, *block.rescue, *block.always])


def _imports(tasks: Iterator[Any]) -> Iterator[Any]:
    """The static imports that tasks come from."""
    for task in tasks:
        parent = task._parent
        while parent is not None:
            if isinstance(parent, TaskInclude):
                yield parent
            parent = parent._parent


@contextmanager
def _roles_made() -> Iterator[list[Any]]:
    """Collect the roles that are made in the block."""
    made: list[Any] = []
    role_type: Any = Role
    stock = role_type.__init__

    def initialize(self: Any, *arguments: Any, **options: Any) -> None:
        made.append(self)
        stock(self, *arguments, **options)

    role_type.__init__ = initialize
    try:
        yield made
    finally:
        role_type.__init__ = stock


def _printed(recorder: Recorder | None) -> int:
    return recorder.count if recorder is not None else 0


def _folders(key: _Key) -> list[str]:
    """The folders in which roles are looked for; one that comes may be found before another."""
    return [folder for folder in key.roles_path.split(os.pathsep) if folder]


def _paths(role: str) -> Iterator[str]:
    """The folder of a role, and all folders and files that its plays are loaded from."""
    yield role
    for folder in _TASK_FOLDERS:
        for place, _, files in os.walk(f"{role}/{folder}"):
            yield place
            yield from (f"{place}/{name}" for name in files)
