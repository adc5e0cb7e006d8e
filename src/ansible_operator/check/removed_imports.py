# SPDX-License-Identifier: Apache-2.0
"""Modules and plugins that import what a release of ansible-core has removed."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_REMOVED: Mapping[str, str] = {
    "ansible.module_utils.compat.datetime": "2.21",
    "ansible.module_utils.compat.paramiko": "2.21",
}
"""The first release without it, by what is imported."""


class RemovedImport(NamedTuple):
    """An import that fails.

    Attributes:
        line: from 1.
        since: the first ansible-core without it.
    """

    line: int
    name: str
    since: str


def removed_imports(source: str) -> Iterator[RemovedImport]:
    """The imports of a Python file that fail under a newer ansible-core.

    One in a ``try`` is its author's own concern.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = ast.parse(source)
    tried = {
        id(node)
        for attempt in ast.walk(tree)
        if isinstance(attempt, ast.Try) and attempt.handlers
        for statement in attempt.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        for name in _imported(node) if id(node) not in tried else ():
            if name in _REMOVED:
                yield RemovedImport(getattr(node, "lineno", 0), name, _REMOVED[name])


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
