# SPDX-License-Identifier: Apache-2.0
"""The walks of docs/design.md: each station exists, and names the next one.

A line of a walk is a file, what it contains, and how one gets there from the line above:

    ▼  the one above names it: calls it, imports it, includes it
    ◄  it names the one above
    ├  the one above names it, and the next ▼ begins where the ├ began
    by FILE NAME, FILE NAME   in between; of two neighbours, one names the other
    again by                  as above, through files that the walk has passed

Python is read as a syntax tree: a function names what its text does, and what the definitions in
its module do that it names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names

from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
FOLDERS = (ROOT, ROOT / "plugins" / "module_utils", ROOT / "src" / "ansible_operator")
"""To which the paths of the walks are relative."""
LINE = re.compile(r"^([ ▼◄├])  (\S+) {2,}(.+?)(?: {2,}(again by|by) (.+))?$")
STATIONS = 14
FILES = {
    "cnGroups[].replicas": 16,
    "logService.replicas": 16,
    "schedule": 14,
    "event": 14,
}
"""How many files a walk may name, those in between included. Less is better."""


@dataclass(frozen=True)
class Place:
    """A file, and what is meant in it."""

    path: Path
    name: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)} {self.name}"

    @property
    def top(self) -> str:
        """The definition at the top level of the module."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Station:
    """A line of a walk."""

    mark: str
    place: Place
    between: tuple[Place, ...]
    is_again: bool


@dataclass(frozen=True)
class Walk:
    """One of the pictures."""

    title: str
    stations: tuple[Station, ...]

    @property
    def places(self) -> Iterator[Place]:
        """All that it names."""
        for station in self.stations:
            yield from station.between
            yield station.place

    def steps(self) -> Iterator[tuple[Place, Station]]:
        """Yield each station with the place from which it is reached."""
        main = before = self.stations[0].place
        for station in self.stations[1:]:
            yield (before if station.mark == "├" else main), station
            before = station.place
            main = main if station.mark == "├" else station.place


def place(path: str, name: str) -> Place:
    found = next((folder / path for folder in FOLDERS if (folder / path).is_file()), None)
    assert found, f"docs/design.md names {path}, which does not exist"
    return Place(found, name)


def station(line: str) -> Station:
    match = LINE.fullmatch(line)
    assert match, f"no line of a walk: {line!r}"
    mark, path, name, how, between = match.groups()
    pairs = [one.split(" ", 1) for one in (between or "").split(", ") if one]
    return Station(mark, place(path, name), tuple(place(*one) for one in pairs), how == "again by")


def _lines(text: str) -> list[str]:
    """Return the lines of a walk; what a comma ends goes on in the next one."""
    return re.sub(r",\n +", ", ", text).splitlines()


@cache
def walks() -> dict[str, Walk]:
    section = PAGE.partition("\n## Four walks\n")[2].partition("\n## ")[0]
    found = re.findall(
        r"^### .*?`?(\S+?)`?$.*?^```text\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
    )
    return {title: Walk(title, tuple(map(station, _lines(text)))) for title, text in found}


class Module:
    """What the definitions of a Python file name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tree = ast.parse(path.read_text())
        self.definitions = dict(self._defined())

    def _defined(self) -> Iterator[tuple[str, ast.stmt]]:
        for node in self._tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from ((one.id, node) for one in targets if isinstance(one, ast.Name))

    def defines(self, name: str) -> bool:
        """Tell whether there is such a function, class, or method of a class."""
        top, _, method = name.partition(".")
        node = self.definitions.get(top)
        if not method:
            return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        return isinstance(node, ast.ClassDef) and method in {
            one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        }

    @cached_property
    def imports(self) -> dict[str, tuple[Path, str]]:
        """File and name (empty for the module itself) of what is imported, by its name here."""
        found = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                folder = self._folder(node)
                for one in node.names:
                    module = folder / f"{one.name}.py"
                    source = (
                        (module, "") if module.is_file() else (folder.with_suffix(".py"), one.name)
                    )
                    found[one.asname or one.name] = source
        return found

    def _folder(self, node: ast.ImportFrom) -> Path:
        parts = (node.module or "").split(".")
        if node.level:
            return self._path.parents[node.level - 1].joinpath(*parts)
        return (ROOT / "src").joinpath(*parts)

    @cache  # noqa: B019  # lives as long as the tests
    def reached(self, name: str) -> frozenset[str]:
        """All that a definition names, and what those in this file name that it names."""
        reached: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one in reached:
                continue
            reached.add(one)
            node = self.definitions.get(one)
            waiting += _named(node) if node is not None else ()
        return frozenset(reached)


def _named(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


@cache
def module(path: Path) -> Module:
    return Module(path)


@cache
def document(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def exists(one: Place) -> bool:
    if one.path.suffix == ".py":
        return module(one.path).defines(one.name)
    if one.path.name == "watches.yaml":
        return any(watch["kind"] == one.name for watch in document(one.path))
    key = "name" if "roles" in one.path.parts else None
    return any(_holds(node, key, one.name) for node in _nodes(document(one.path)))


def _holds(node: dict[str, Any], key: str | None, name: str) -> bool:
    return node.get(key) == name if key else name in node


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(one)


def leads(one: Place, other: Place) -> bool:
    """Tell whether a place names another one."""
    if one.path.suffix == ".py":
        known = module(one.path).reached(one.top)
        return _python_leads(one, other, known)
    if one.path.name == "watches.yaml":
        roles = {w["role"].rpartition(".")[2] for w in document(one.path) if w["kind"] == one.name}
        return other.path.parent.parent.name in roles
    if other.path.name == "watches.yaml":
        return any(node.get("kind") == other.name for node in _nodes(document(one.path)))
    return _role_leads(one, other)


def _python_leads(one: Place, other: Place, known: frozenset[str]) -> bool:
    if other.path.name == "watches.yaml":
        return other.name in known or any(getattr(names, n, "") == other.name for n in known)
    if other.path.suffix != ".py":
        return False
    imports = module(one.path).imports
    return _dotted(other.path) in known or any(
        _is_meant(symbol, other, known)
        for name, (path, symbol) in imports.items()
        if name in known and path == other.path
    )


def _dotted(path: Path) -> str:
    """Return a module's name, by which a process may be started that runs it."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removeprefix("src.")


def _is_meant(symbol: str, other: Place, known: frozenset[str]) -> bool:
    """Tell whether an imported name, or a name of an imported module, leads to a definition."""
    if not symbol:
        return other.top in known
    return other.top in module(other.path).reached(symbol)


def _role_leads(one: Place, other: Place) -> bool:
    text = one.path.read_text()
    if other.path.suffix == ".py":
        filters = re.findall(rf'"(\w+)": {re.escape(other.name)},', other.path.read_text())
        return any(re.search(rf"matrixorigin\.matrixone\.{name}\b", text) for name in filters)
    role, file = other.path.parent.parent.name, other.path.name
    if other.path.parent == one.path.parent:
        return bool(re.search(rf"(include|import)_tasks: {re.escape(file)}$", text, re.MULTILINE))
    named = rf"name: matrixorigin\.matrixone\.{role}\n +tasks_from: {re.escape(file)}$"
    return bool(re.search(named, text, re.MULTILINE))


def test_there_are_the_four_walks() -> None:
    assert list(walks()) == list(FILES)


@pytest.mark.parametrize("title", FILES)
def test_every_place_of_a_walk_exists(title: str) -> None:
    assert [str(one) for one in walks()[title].places if not exists(one)] == []


@pytest.mark.parametrize("title", FILES)
def test_each_station_leads_to_the_next_one(title: str) -> None:
    broken = []
    for before, reached in walks()[title].steps():
        places = [before, *reached.between, reached.place]
        for one, other in pairwise(places):
            either_way = bool(reached.between)
            forwards, backwards = leads(one, other), leads(other, one)
            is_connected = backwards if reached.mark == "◄" else forwards
            if not (is_connected or (either_way and (forwards or backwards))):
                broken.append(f"{one} -> {other}")
    assert broken == []


@pytest.mark.parametrize("title", FILES)
def test_no_walk_leads_back_or_is_too_long(title: str) -> None:
    walk = walks()[title]
    stations = [one.place.path for one in walk.stations]
    assert len(set(stations)) == len(stations) <= STATIONS
    assert len({one.path for one in walk.places}) <= FILES[title]


@pytest.mark.parametrize("title", FILES)
def test_only_what_is_said_to_be_passed_again_is(title: str) -> None:
    passed: set[Path] = set()
    for one in walks()[title].stations:
        inside = {between.path for between in one.between}
        assert (inside <= passed) if one.is_again else not inside & passed, one.place
        passed.add(one.place.path)


RENDERING = "cluster/rendering.py"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Not used by what is said to lead there, though the module imports it.
        (place("kinds.py", "rendered_kind"), place("pool/pool_kind.py", "_plan")),
        # Imported by nobody on the way.
        (
            place(RENDERING, "render_matrixonecluster"),
            place("compute/rendering.py", "render_cnset"),
        ),
        # Another kind, another role, another file of a role, another filter.
        (place(RENDERING, "render_matrixonecluster"), place("watches.yaml", "BackupJob")),
        (
            place("watches.yaml", "CNSet"),
            place("roles/logset/tasks/main.yml", "Observe what exists"),
        ),
        (
            place("roles/cnset/tasks/main.yml", "Observe what exists"),
            place("roles/component/tasks/remove.yml", "-"),
        ),
        (
            place("roles/component/tasks/begin.yml", "-"),
            place("plugins/filter/plans.py", "plan_for"),
        ),
    ],
)
def test_what_does_not_lead_there_is_noticed(one: Place, other: Place) -> None:
    assert not leads(one, other)


def test_what_does_not_exist_is_noticed() -> None:
    assert not exists(place("kinds.py", "no_such_function"))
    assert not exists(place("workload/kind.py", "Judge.no_such_method"))
    assert not exists(place("watches.yaml", "NoSuchKind"))
    assert not exists(place("roles/cnset/tasks/main.yml", "No such task"))
    with pytest.raises(AssertionError, match="which does not exist"):
        place("cluster/no_such_file.py", "main")
