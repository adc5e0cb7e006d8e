# SPDX-License-Identifier: Apache-2.0
"""New projects, and new kinds in a project."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from ansible_operator.authoring import manifests, rights, role, writing
from ansible_operator.authoring.names import KindNames, project_name, role_name
from ansible_operator.authoring.options import read_options
from ansible_operator.authoring.project import (
    NewKind,
    files_of_kind,
    files_of_project,
    lists,
    rights_file,
)
from ansible_operator.authoring.yaml_text import NotEditableError, appended
from ansible_operator.errors import ConfigError

_ACCOUNT = "config/rbac/service_account.yaml"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the role of a new kind comes from.

    Attributes:
        kind: the kind with its role.
        files: files of a role that is created, by their paths in the project.
        copied: folder of a role that exists elsewhere; None if none is copied.
    """

    kind: NewKind
    files: dict[str, str]
    copied: Path | None = None


def create_project(folder: Path, name: str, names: KindNames, from_role: Path | None) -> Source:
    """Create a project.

    Args:
        folder: which must be new or empty.
        name: of the project; that of the folder if it is empty.
        names: its first kind.
        from_role: folder of a role to copy; None for a new role.

    Raises:
        ConfigError: a name is none, something exists already, or the role is of no use.
    """
    project = project_name(name or folder.resolve().name)
    writing.require_empty(folder)
    source = _source(folder, names, from_role)
    files = {**files_of_project(project, source.kind), **source.files}
    _write(folder, files, source)
    return source


def add_kind(folder: Path, names: KindNames, from_role: Path | None) -> Source:
    """Add a kind to a project: new files, and one more item in three lists.

    Raises:
        ConfigError: it is no project, the kind is in it already, a file exists, or a list cannot
            be extended.
    """
    project = _project_of(folder)
    source = _source(folder, names, from_role)
    files = {**files_of_kind(project, source.kind), **source.files}
    writing.require_absent(folder, files)
    definitions, roles = lists()
    changes = {
        path: _extended(folder / path, where, item)
        for path, where, item in (
            ("watches.yaml", (), manifests.watch(names, source.kind.role)),
            (definitions, ("resources",), names.definition_file.rpartition("/")[2]),
            (roles, ("resources",), rights_file(names).rpartition("/")[2]),
        )
    }
    _write(folder, files, source)
    for path, text in changes.items():
        writing.change(folder / path, text)
    return source


def _source(folder: Path, names: KindNames, given: Path | None) -> Source:
    if given is None:
        made = role.files(names)
        files = {f"roles/{names.singular}/{path}": text for path, text in made.items()}
        rules = rights.rules_of(list(made.values()))
        return Source(NewKind(names, names.singular, role.options(), rules), files)
    if not (given / "tasks").is_dir():
        raise ConfigError(f"{given} is no role: it has no folder tasks")
    name = role_name(given.resolve().name)
    kind = NewKind(names, name, read_options(given), rights.rules(given))
    target = folder / "roles" / name
    if target.resolve() == given.resolve():
        return Source(kind, {})
    if target.exists():
        raise ConfigError(f"{target} exists already; use it with --from-role {target}")
    return Source(kind, {}, given)


def _write(folder: Path, files: dict[str, str], source: Source) -> None:
    writing.create(folder, files)
    if source.copied is not None:
        writing.copy_role(source.copied, folder / "roles" / source.kind.role)


def _project_of(folder: Path) -> str:
    """The name of the project in a folder."""
    try:
        account = yaml.safe_load((folder / _ACCOUNT).read_text(encoding="utf-8"))
        return project_name(account["metadata"]["name"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{folder} is no project that ansible-operator init has created: {_ACCOUNT} does not "
            "name a ServiceAccount; go to the folder of the project, or name it with --project"
        ) from error


def _extended(path: Path, where: tuple[str, ...], item: object) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        listed = yaml.safe_load(text)
        for part in where:
            listed = listed[part]
        if _is_listed(item, listed):
            raise ConfigError(f"{path} names this kind already")
        return appended(text, where, item)
    except (OSError, yaml.YAMLError, KeyError, TypeError, NotEditableError) as error:
        shown = yaml.safe_dump([item], default_flow_style=True, width=1000).strip()
        raise ConfigError(
            f"{path} cannot be extended: {error}; make it a list in block style, such as {shown}"
        ) from error


def _is_listed(item: object, listed: object) -> bool:
    if not isinstance(listed, list):
        return False
    if not isinstance(item, dict):
        return item in listed
    key = ("group", "version", "kind")
    mine = [item[name] for name in key]
    return any(isinstance(one, dict) and [one.get(name) for name in key] == mine for one in listed)
