# SPDX-License-Identifier: Apache-2.0
"""All rules over all files of a project."""

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from ansible_operator.check import requirements, routing
from ansible_operator.check.documents import Located, UnreadableError, read
from ansible_operator.check.findings import Finding, Severity, for_release, release
from ansible_operator.check.plugin_state import kept_by
from ansible_operator.check.project import Project, ansible_folder, open_project, readable
from ansible_operator.check.removed_imports import removed_imports
from ansible_operator.check.task_rules import TaskRules
from ansible_operator.check.tasks import included, is_playbook, roles_of, tasks_of
from ansible_operator.check.variables import Variables
from ansible_operator.check.watch_rules import check_watches
from ansible_operator.watches import Isolation, Watch

NEWEST_KNOWN = "2.21"


def installed_core() -> str:
    """The release of ansible-core beside this program; the newest known one without any."""
    try:
        return ".".join(map(str, release(metadata.version("ansible-core"))))
    except metadata.PackageNotFoundError:
        return NEWEST_KNOWN


def check_project(
    root: Path, core: str, watches: str = "watches.yaml", environ: Mapping[str, str] | None = None
) -> list[Finding]:
    """Everything that is found, by file and line.

    Args:
        root: folder of the project.
        core: ansible-core that it is to run under, such as ``2.18``.
        watches: name of the watches file in it.
        environ: where search paths come from; the process environment if None.

    Raises:
        ConfigError: the folder has no watches file.
        ValueError: the release is no version.
    """
    project = open_project(root, watches, os.environ if environ is None else environ)
    watched, found = check_watches(project)
    found += _requirements(project)
    found += _tasks(project)
    found += _templates(project)
    found += _plugins(project, watched)
    target = release(core)
    return sorted({for_release(finding, target) for finding in found})


def _requirements(project: Project) -> list[Finding]:
    found = []
    for path in requirements.files(project.root):
        try:
            read(path)
        except UnreadableError as error:
            name = project.name(path)
            found.append(Finding(name, error.line, Severity.ERROR, "yaml", str(error)))
    return found


def _tasks(project: Project) -> Iterator[Finding]:
    table, local = routing.load(ansible_folder()), frozenset(project.local_modules())
    for role, path in project.task_files():
        name = project.name(path)
        rules = TaskRules(
            project,
            table,
            local,
            name,
            project.variables(role),
            project.searched(role),
            role,
            path,
        )
        try:
            documents = read(path)
        except UnreadableError as error:
            yield _unreadable(name, error, is_played=role is None or project.is_played(path))
            continue
        for document in documents:
            yield from _plays(name, document)
            yield from rules.roles(roles_of(document))
            yield from rules.files(included(document))
            for task in tasks_of(document):
                yield from rules.check(task)


def _unreadable(name: str, error: UnreadableError, *, is_played: bool) -> Finding:
    if is_played:
        return Finding(name, error.line, Severity.ERROR, "yaml", str(error))
    message = f"{error}; it fails if it is included as tasks"
    return Finding(name, error.line, Severity.WARNING, "yaml", message)


def _plays(name: str, document: Located) -> Iterator[Finding]:
    for play in document.items if is_playbook(document) else []:
        hosts = play.keys.get("hosts")
        if hosts is not None and hosts.text not in {"localhost", "127.0.0.1", "all"}:
            message = f"a play on {hosts.text}: only the recap of localhost is in the status"
            yield Finding(name, hosts.line, Severity.NOTE, "hosts", message)
        if "strategy" in play.keys and play.keys["strategy"].text != "linear":
            message = "with a strategy of its own, each task starts a process, as in any play"
            line = play.keys["strategy"].line
            yield Finding(name, line, Severity.NOTE, "slow-path", message)


def _templates(project: Project) -> Iterator[Finding]:
    table = routing.load(ansible_folder())
    for role in project.roles:
        for path in sorted((role / "templates").glob("**/*.j2")):
            rules = TaskRules(project, table, frozenset(), project.name(path), Variables())
            yield from rules.template(path.read_text(errors="replace"))
        for path in sorted((role / "meta").glob("main.y*ml")):
            rules = TaskRules(
                project, table, frozenset(), project.name(path), Variables(), role=role
            )
            for document in readable([path]):
                yield from rules.roles(roles_of(document))


def _plugins(project: Project, watched: Sequence[Watch]) -> Iterator[Finding]:
    """State in memory, an error where processes are shared, and imports of what has gone."""
    is_shared = any(watch.isolation is Isolation.SHARED for watch in watched)
    severity = Severity.ERROR if is_shared else Severity.NOTE
    then = (
        "the next run, of another object, finds it there"
        if is_shared
        else "a watch with this plugin must not have isolation: shared"
    )
    for path in project.plugin_files():
        name = project.name(path)
        try:
            kept = kept_by(path.read_text())
            removed = list(removed_imports(path.read_text()))
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", 0) or 0
            yield Finding(name, line, Severity.ERROR, "python", str(error))
            continue
        for item in kept:
            message = f"{item.name} is {item.how}: {item.reason or then}"
            level = Severity.NOTE if item.reason else severity
            yield Finding(name, item.line, level, "plugin-state", message)
        for line, imported, since in removed:
            message = f"the import of {imported} fails"
            yield Finding(name, line, Severity.ERROR, "import-removed", message, since)
