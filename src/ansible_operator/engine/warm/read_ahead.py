# SPDX-License-Identifier: Apache-2.0
"""What roles consist of, read before the first fork: YAML files, the Jinja in these, templates.

A run would parse the same files and compile the same expressions each time.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine.patches import compiled_templates, role_files

_FOLDERS = ("tasks", "handlers", "defaults", "vars", "meta")
_CONDITIONS = frozenset({"when", "until", "failed_when", "changed_when", "that"})
_MARKS = ("{{", "{%", "{#")


def yaml_files(role: Path) -> Iterator[Path]:
    """The files of a role in which tasks, variables and their like are written."""
    for folder in _FOLDERS:
        for pattern in ("*.yml", "*.yaml"):
            yield from sorted((role / folder).rglob(pattern))


def template_files(role: Path) -> Iterator[Path]:
    """The files of a role that are templates."""
    yield from (path for path in sorted((role / "templates").rglob("*")) if path.is_file())


def read(roles: Sequence[Path]) -> None:
    """Read the files of roles."""
    loader = DataLoader()
    compile_file = compiled_templates.file_compiler(loader)
    compile_ahead = compiled_templates.compiler(loader)
    for role in roles:
        for path in yaml_files(role):
            # Ansible names a role of a project by its real path.
            for name in {str(path), os.path.realpath(path)}:
                with contextlib.suppress(AnsibleError, OSError, UnicodeDecodeError):
                    for source, is_condition in _sources(role_files.parse(loader, name)):
                        compile_ahead(source, is_condition)
        for path in template_files(role):
            with contextlib.suppress(AnsibleError, OSError, UnicodeDecodeError):
                compile_file(str(path))


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
