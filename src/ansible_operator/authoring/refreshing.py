# SPDX-License-Identifier: Apache-2.0
"""The CRDs of a project, after the argument specs of its roles have changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.authoring import definition
from ansible_operator.authoring.names import KindNames, kind_names
from ansible_operator.authoring.options import NoArgumentSpecsError, Option, read_options
from ansible_operator.errors import ConfigError

_HOMES = ("${HOME}/", "$HOME/", "/opt/ansible/")
_GIVEN = frozenset({"ansible_operator_meta", "ansible_operator_trigger"})
"""Variables that the runner sets."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The CRD of a watch.

    Attributes:
        path: its file.
        old: its text; None if there is no file.
        new: the text that it has to have.
    """

    path: Path
    old: str | None
    new: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A watch whose CRD follows from no role of the project.

    Attributes:
        reason: a clause that says why.
    """

    kind: str
    reason: str


def definitions(project: Path) -> Iterator[Definition | Skipped]:
    """What becomes of the CRD of each watch.

    Raises:
        ConfigError: there is no project, or a CRD cannot follow from its role.
    """
    for watch in _watches(project / "watches.yaml"):
        kind, name = str(watch.get("kind")), watch.get("role")
        if "playbook" in watch or not isinstance(name, str):
            yield Skipped(kind, "it is run by a playbook, which has no argument specs")
            continue
        names, role = _names(project, watch), _role(project, name)
        if names is None:
            yield Skipped(kind, "it is not a kind that a CRD of the project could define")
            continue
        if role is None:
            yield Skipped(kind, f"the project has no role {name}")
            continue
        try:
            options = read_options(role)
        except NoArgumentSpecsError:
            yield Skipped(kind, f"the role {name} has no argument specs")
            continue
        yield _definition(project, names, role, _taken(watch, names, options))


def _definition(
    project: Path, names: KindNames, role: Path, options: tuple[Option, ...]
) -> Definition:
    path = _file(project, names) or project / names.definition_file
    old = path.read_text(encoding="utf-8") if path.exists() else None
    if old is None:
        return Definition(path, None, definition.text(names, role.name, options))
    return Definition(path, old, definition.updated(old, names.version, options, str(path)))


def _watches(path: Path) -> list[dict[str, Any]]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}; name the folder of an operator's project"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is no YAML: {error}") from error
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise ConfigError(f"{path} is no list of watches")
    return content


def _names(project: Path, watch: Mapping[str, Any]) -> KindNames | None:
    """The names of a kind; None for one that no CRD defines, such as a Deployment."""
    try:
        names = kind_names(*(str(watch.get(key, "")) for key in ("group", "version", "kind")))
    except ConfigError:
        return None
    path = _file(project, names)
    if path is None:
        return names
    plural = definition.plural_in(path.read_text(encoding="utf-8"), names.group, names.kind)
    return KindNames(names.group, names.version, names.kind, plural)


def _file(project: Path, names: KindNames) -> Path | None:
    """The file of the project that has the CRD of a kind; None without one."""
    for path in sorted((project / "config" / "crd").rglob("*.yaml")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if definition.plural_in(text, names.group, names.kind):
            return path
    return None


def _role(project: Path, name: str) -> Path | None:
    for home in _HOMES:
        name = name.removeprefix(home)
    places = (project / "roles" / name, project / name)
    return next((place for place in places if (place / "tasks").is_dir()), None)


def _taken(
    watch: Mapping[str, Any], names: KindNames, options: tuple[Option, ...]
) -> tuple[Option, ...]:
    """The options that come from the spec; the watch or the runner sets the others."""
    finalizer = watch.get("finalizer")
    given = {
        *_GIVEN,
        *_keys(watch.get("vars")),
        *_keys(finalizer.get("vars") if isinstance(finalizer, Mapping) else None),
    }
    group = names.group.replace(".", "_").replace("-", "_")
    given |= {f"_{group}_{names.singular}", f"_{group}_{names.singular}_spec"}
    return tuple(option for option in options if option.name not in given)


def _keys(variables: object) -> set[str]:
    return {str(key) for key in variables} if isinstance(variables, Mapping) else set()
