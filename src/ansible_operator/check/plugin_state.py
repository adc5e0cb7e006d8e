# SPDX-License-Identifier: Apache-2.0
"""Plugins and modules that keep something in memory from one run to the next.

By default each run has a process of its own. A watch with ``isolation: shared`` promises that its
plugins keep nothing, and checks and admission functions live in processes that stay.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

_CHANGES = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
    }
)
_CONTAINERS = frozenset({"dict", "list", "set", "defaultdict", "OrderedDict", "deque", "Counter"})
_ON_PURPOSE = re.compile(r"# ansible-operator: kept, *(\S.*)")
_CACHES = frozenset({"cache", "lru_cache", "cached"})


@dataclass(frozen=True, slots=True)
class Kept:
    """A name that outlives a run.

    Attributes:
        line: where it is changed, from 1.
        reason: why it is right, by a comment in this line: ``# ansible-operator: kept, REASON``.
    """

    name: str
    line: int
    how: str
    reason: str = ""


@dataclass(slots=True)
class _Module:
    containers: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


def kept_by(source: str) -> list[Kept]:
    """What a Python file keeps, in the order of its lines.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = ast.parse(source)
    module = _Module()
    for statement in tree.body:
        for name, value in _bindings(statement):
            module.names.add(name)
            if _is_container(value):
                module.containers.add(name)
    found = {
        kept.line: kept
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for kept in (*_changed(function, module), *_cached(function))
    }
    lines = source.splitlines()
    return [
        replace(found[line], reason=given[1].strip())
        if (given := _ON_PURPOSE.search(lines[line - 1]))
        else found[line]
        for line in sorted(found)
    ]


def _bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, statement.value


def _is_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    return isinstance(value, ast.Call) and _name(value.func) in _CONTAINERS


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _changed(function: ast.FunctionDef | ast.AsyncFunctionDef, module: _Module) -> Iterator[Kept]:
    own = {item.arg for item in (*function.args.args, *function.args.kwonlyargs)}
    declared = {
        name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            if node.id in declared:
                yield Kept(node.id, node.lineno, "a global variable that a function sets")
            else:
                own.add(node.id)
    shared = module.containers - (own - declared)
    for node in ast.walk(function):
        held = _changed_container(node)
        if held in shared:
            yield Kept(held, getattr(node, "lineno", 0), "a container that a function changes")


def _changed_container(node: ast.AST) -> str:
    """Name of the container that this expression changes; ``""`` for none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _name_of(node.func.value) if node.func.attr in _CHANGES else ""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return _name_of(node.value)
    return ""


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _cached(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Kept]:
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _name(called) in _CACHES:
            yield Kept(function.name, decorator.lineno, "a function that remembers its results")
