# SPDX-License-Identifier: Apache-2.0
"""Role files parsed once, before the first fork.

A file is parsed again when it has changed since. Ansible may change what it gets, so it gets a
copy.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine.patches import versions as ansible_versions
from ansible_operator.engine.patches.copies import isolated


class _Parsed(NamedTuple):
    """Content of a file, and the state in which it was read."""

    modified: int
    size: int
    content: Any


States: TypeAlias = dict[str, tuple[int, int]]
"""By path: when it was changed, and its size."""

_files: dict[str, _Parsed] = {}
_readers: list[States] = []
"""Who wants to know which files are read."""


def install() -> None:
    """Have Ansible use what was parsed."""
    stock = DataLoader.load_from_file

    def load_from_file(self: Any, file_name: str, *arguments: Any, **options: Any) -> Any:
        for states in _readers:
            path = self.path_dwim(file_name)
            states.setdefault(path, state_of(path))
        if not arguments and options == ansible_versions.ROLE_FILE:
            found = _take(self.path_dwim(file_name))
            if found is not None:
                return isolated(found.content)
            return isolated(stock(self, file_name, unsafe=True, **options))
        return stock(self, file_name, *arguments, **options)

    DataLoader.load_from_file = load_from_file


@contextmanager
def states_read() -> Iterator[States]:
    """Collect the files that are read in the block, each as it was just before."""
    states: States = {}
    _readers.append(states)
    try:
        yield states
    finally:
        _readers.remove(states)


def state_of(path: str) -> tuple[int, int]:
    """When a file or folder was changed, and its size; zeros if there is none."""
    try:
        state = os.stat(path)  # noqa: PTH116 (one of many in each run)
    except OSError:
        return (0, 0)
    return (state.st_mtime_ns, state.st_size)


def parse(loader: DataLoader, name: str) -> Any:
    """Parse a file for the plays to come; answer its content."""
    state = os.stat(name)  # noqa: PTH116 (the name must stay as Ansible will spell it)
    content = DataLoader.load_from_file(loader, name, **ansible_versions.ROLE_FILE)
    _files[name] = _Parsed(state.st_mtime_ns, state.st_size, content)
    return content


def _take(name: str) -> _Parsed | None:
    """The content of a file, unless it has changed."""
    found = _files.get(name)
    if found is None:
        return None
    return found if state_of(name) == found[:2] else None
