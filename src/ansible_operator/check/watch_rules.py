# SPDX-License-Identifier: Apache-2.0
"""What of a watches file will not work, or works differently."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ansible_operator.check.documents import Located, UnreadableError, read
from ansible_operator.check.findings import Finding, Severity
from ansible_operator.check.project import HOME, Project
from ansible_operator.logs import silent
from ansible_operator.watches import Watch, WatchesError, load

_USUAL = frozenset({"group", "version", "kind", "role", "playbook", "name", "vars"})
_FIELD = re.compile(r"struct field alias\.(\w+)")
_MISMATCH = re.compile(
    r".*cannot unmarshal (?P<found>\w+)(?: \S+)? into Go (?:value|struct field \w+\.(?P<field>\w+))"
    r" of type (?P<expected>.*)"
)
_TYPES = {
    "string": "string",
    "bool": "bool",
    "int": "whole number",
    "[]string": "array",
    "[]watches.alias": "array",
}


def check_watches(project: Project) -> tuple[list[Watch], list[Finding]]:
    """The watches, none if they cannot be used, and what is found in them."""
    path = project.name(project.watches)
    try:
        documents = read(project.watches)
    except UnreadableError as error:
        return [], [Finding(path, error.line, Severity.ERROR, "yaml", str(error))]
    entries = [item for document in documents[:1] for item in document.items]
    try:
        watches = _load(project)
    except WatchesError as error:
        problem = error.problem.replace(str(project.root), HOME)
        line = _line_of(problem, entries[error.entry - 1]) if error.entry else 1
        return [], [Finding(path, line, Severity.ERROR, "watches", _in_words(problem))]
    found = [
        finding
        for watch, entry in zip(watches, entries, strict=False)
        for finding in _differences(path, watch, entry)
    ]
    return watches, found


def _load(project: Project) -> list[Watch]:
    """Load the file as the operator does, with the paths of the image found in the folder."""
    environ = {
        **project.environ,
        "HOME": str(project.root),
        "ANSIBLE_ROLES_PATH": str(project.root / "roles"),
    }
    with silent(), tempfile.TemporaryDirectory(prefix="ansible-operator-") as folder:
        copy = Path(folder) / "watches.yaml"
        copy.write_text(project.inside(project.watches.read_text()))
        return load(copy, environ=environ, cwd=project.root)


def _line_of(problem: str, entry: Located) -> int:
    """The line of the key that an error of an entry names, or whose value it names."""
    keys = {name.lower(): item for name, item in entry.keys.items()}
    words = [word.lower() for word in re.findall(r"\w+", problem)]
    field = _FIELD.search(problem)
    for word in [field[1].lower()] if field else words:
        if word in keys and word not in _USUAL:
            return keys[word].line
    for name in ("playbook", "role"):
        if name in keys and keys[name].text and keys[name].text in problem:
            return keys[name].line
    return entry.line


def _in_words(problem: str) -> str:
    """An error of a value of the wrong type, without the types of Go."""
    match = _MISMATCH.fullmatch(problem)
    if match is None:
        return problem
    field, found, expected = match["field"], match["found"], match["expected"]
    whole = "the file" if "[]" in expected else "an entry"
    name = field[:1].lower() + field[1:] if field else whole
    return f"{name} is of type {found}, not {_TYPES.get(expected, 'object')}"


def _differences(path: str, watch: Watch, entry: Located) -> Iterator[Finding]:
    keys = {name.lower(): item.line for name, item in entry.keys.items()}
    kind = watch.kind.kind
    for name in watch.unknown_keys:
        message = f"{kind}: {name} is not a key of a watch, and ignored"
        line = keys.get(name.lower(), entry.line)
        yield Finding(path, line, Severity.WARNING, "watch-key", message)
    if "markunsafe" not in keys:
        message = (
            f"{kind}: values of an object are data, never templates; markUnsafe: false lets plays "
            "render them, as with the Go runner"
        )
        yield Finding(path, entry.line, Severity.NOTE, "mark-unsafe", message)
    if "watchdependentstatus" in keys and watch.watch_dependent_status:
        message = f"{kind}: the Go runner does not know watchDependentStatus"
        yield Finding(path, keys["watchdependentstatus"], Severity.NOTE, "extension", message)
