# SPDX-License-Identifier: Apache-2.0
"""Role files parsed once, before the first fork.

A file is parsed again when it has changed since. Ansible may change what it gets, so it gets a
copy.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine.patches import versions as ansible_versions
from ansible_operator.engine.patches.copies import isolated


class _Parsed(NamedTuple):
    """Content of a file, and the state in which it was read."""

    modified: int
    size: int
    content: Any


_files: dict[str, _Parsed] = {}
_readers: list[set[str]] = []
"""Who wants to know which files are read."""


def install() -> None:
    """Have Ansible use what was parsed."""
    stock = DataLoader.load_from_file

    def load_from_file(self: Any, file_name: str, *arguments: Any, **options: Any) -> Any:
        for names in _readers:
            names.add(self.path_dwim(file_name))
        if not arguments and options == ansible_versions.ROLE_FILE:
            found = _take(self.path_dwim(file_name))
            if found is not None:
                return isolated(found.content)
            return isolated(stock(self, file_name, unsafe=True, **options))
        return stock(self, file_name, *arguments, **options)

    DataLoader.load_from_file = load_from_file


@contextmanager
def read_names() -> Iterator[set[str]]:
    """Collect the paths of the files that are read in the block."""
    names: set[str] = set()
    _readers.append(names)
    try:
        yield names
    finally:
        _readers.remove(names)


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
    state = os.stat(name)  # noqa: PTH116
    return found if (state.st_mtime_ns, state.st_size) == found[:2] else None
