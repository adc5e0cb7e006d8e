# SPDX-License-Identifier: Apache-2.0
"""What roles consist of, read before the first fork: their YAML files, and the Jinja in these.

A run would parse the same files and compile the same expressions each time. A file is parsed
again when it has changed since. Ansible may change what it gets, so it gets a copy. Compiled code
depends on nothing but the source and the settings that are its key.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine.patches import versions as ansible_versions
from ansible_operator.engine.patches.copies import isolated

_FOLDERS = ("tasks", "handlers", "defaults", "vars", "meta")
_CONDITIONS = frozenset({"when", "until", "failed_when", "changed_when", "that"})
_MARKS = ("{{", "{%", "{#")


class _Parsed(NamedTuple):
    """Content of a file, and the state in which it was read."""

    modified: int
    size: int
    content: Any


_files: dict[str, _Parsed] = {}


def yaml_files(role: Path) -> Iterator[Path]:
    """The files of a role in which tasks, variables and their like are written."""
    for folder in _FOLDERS:
        for pattern in ("*.yml", "*.yaml"):
            yield from sorted((role / folder).rglob(pattern))


def install() -> None:
    """Have Ansible use what was read."""
    stock = DataLoader.load_from_file

    def load_from_file(self: Any, file_name: str, *arguments: Any, **options: Any) -> Any:
        if not arguments and options == ansible_versions.ROLE_FILE:
            found = _take(self.path_dwim(file_name))
            if found is not None:
                return isolated(found.content)
            if ansible_versions.HAS_PROFILES:
                return isolated(stock(self, file_name, unsafe=True, **options))
        return stock(self, file_name, *arguments, **options)

    DataLoader.load_from_file = load_from_file
    ansible_versions.remember_code()


def read(roles: Sequence[Path]) -> None:
    """Read the files of roles."""
    loader = DataLoader()
    compiler = ansible_versions.code_compiler(loader)
    for role in roles:
        for path in yaml_files(role):
            # Ansible names a role of a project by its real path.
            for name in {str(path), os.path.realpath(path)}:
                with contextlib.suppress(AnsibleError, OSError, UnicodeDecodeError):
                    _files[name] = _read(loader, name)
                    for source, is_condition in _sources(_files[name].content):
                        compiler(source, is_condition)


def _read(loader: DataLoader, name: str) -> _Parsed:
    state = os.stat(name)  # noqa: PTH116 (the name must stay as Ansible will spell it)
    content = DataLoader.load_from_file(loader, name, **ansible_versions.ROLE_FILE)
    return _Parsed(state.st_mtime_ns, state.st_size, content)


def _take(name: str) -> _Parsed | None:
    """The content of a file, unless it has changed."""
    # Up to 2.18 the containers of YAML files are of types that cannot be copied cheaply: there a
    # file is parsed again at its second use.
    found = _files.get(name) if ansible_versions.HAS_PROFILES else _files.pop(name, None)
    if found is None:
        return None
    state = os.stat(name)  # noqa: PTH116
    return found if (state.st_mtime_ns, state.st_size) == found[:2] else None


def _sources(content: Any, key: str = "") -> Iterator[tuple[str, bool]]:
    """Each template in a file, and each condition (which is an expression without braces)."""
    if isinstance(content, str):
        is_template = any(mark in content for mark in _MARKS)
        if is_template or key in _CONDITIONS:
            yield content, not is_template
    elif isinstance(content, dict):
        for name, value in content.items():
            yield from _sources(value, str(name))
    elif isinstance(content, list):
        for value in content:
            yield from _sources(value, key)
