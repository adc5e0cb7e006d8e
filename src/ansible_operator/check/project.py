# SPDX-License-Identifier: Apache-2.0
"""The files of an operator's project: roles, playbooks, requirements, plugins, collections."""

import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ansible_operator.check import variables
from ansible_operator.check.documents import Located, UnreadableError, read
from ansible_operator.check.requirements import Requirements, required
from ansible_operator.check.tasks import included, is_playbook, tasks_of
from ansible_operator.check.variables import Variables
from ansible_operator.errors import ConfigError

HOME = "/opt/ansible"
"""Where the image has the project."""
PLUGIN_FOLDERS = (
    *("library", "module_utils", "action_plugins", "callback_plugins", "filter_plugins"),
    *("lookup_plugins", "test_plugins", "vars_plugins", "plugins"),
)
_YAML = frozenset({".yml", ".yaml"})
_SKIPPED = frozenset({"molecule", "tests", ".git"})
"""Folders in roles whose files no operator plays."""


@dataclass(frozen=True)
class Project:
    """A folder as it is copied into an image.

    Attributes:
        root: the folder.
        watches: its watches file.
        environ: where the search paths of collections come from.
    """

    root: Path
    watches: Path
    environ: Mapping[str, str]

    def name(self, path: Path) -> str:
        """A path as it is reported: relative to the folder, if it is inside."""
        return str(path.relative_to(self.root)) if path.is_relative_to(self.root) else str(path)

    def inside(self, text: str) -> str:
        """A text with the paths of the image replaced by those of the folder."""
        return (
            text.replace("${HOME}", HOME)
            .replace("$HOME/", f"{HOME}/")
            .replace(HOME, str(self.root))
        )

    @cached_property
    def watched(self) -> list[Path]:
        """Where the watches say that playbooks and roles are, and what exists of it."""
        documents = list(readable([self.watches]))[:1]
        entries = [entry for document in documents for entry in document.items]
        nested = [one.keys["finalizer"] for one in entries if "finalizer" in one.keys]
        places = [
            self.root / self.inside(item.text)
            for part in (*entries, *nested)
            for name, item in part.keys.items()
            if name.lower() in {"playbook", "role"} and item.text
        ]
        return [path for path in dict.fromkeys(places) if path.exists()]

    @cached_property
    def play_folders(self) -> list[Path]:
        """Folders of playbooks."""
        watched = [path.parent for path in self.watched if path.is_file()]
        return list(dict.fromkeys([self.root, self.root / "playbooks", *watched]))

    @cached_property
    def roles(self) -> list[Path]:
        """The project's roles: below ``roles`` at any depth, beside playbooks, and the watched."""
        found = {path for path in self.watched if path.is_dir()}
        for folder in {play / "roles" for play in self.play_folders}:
            found |= {path for path in folder.glob("*") if path.is_dir()}
            nested = {path.parent for path in folder.glob("**/tasks") if path.is_dir()}
            found |= {path for path in nested if not _SKIPPED & {*path.parts[len(folder.parts) :]}}
        return sorted(found)

    def role(self, name: str, near: Path | None = None) -> Path | None:
        """The folder of a role that plays and roles of the project can name so; None without one.

        Args:
            name: as it is written; a path may lead to it.
            near: a role that names it; its neighbours are found too.
        """
        given = [
            Path(part) for part in self.environ.get("ANSIBLE_ROLES_PATH", "").split(":") if part
        ]
        places = [place for folder in self.play_folders for place in (folder / "roles", folder)]
        places += [*given, *([near.parent] if near is not None else [])]
        places += [role.parent for role in self.roles]
        found = (place / self.inside(name) for place in places)
        return next((path for path in found if path.is_dir()), None)

    def has_role(self, name: str, near: Path | None = None) -> bool:
        """Whether a role is there, or is installed with the requirements."""
        return name in self.requirements.roles or self.role(name, near) is not None

    @cached_property
    def _task_files(self) -> list[tuple[Path | None, Path]]:
        found: dict[Path, Path | None] = {}
        for role in self.roles:
            for part in ("tasks", "handlers"):
                for path in _found(role / part, _YAML):
                    if not _SKIPPED & {*path.relative_to(role).parts}:
                        found[path] = role
        for path in self._playbooks():
            found.setdefault(path, None)
        waiting = list(found)
        while waiting:
            path = waiting.pop()
            for other in self._included_by(path, found[path]):
                if other not in found:
                    found[other] = found[path]
                    waiting.append(other)
        return [(role, path) for path, role in found.items()]

    @cached_property
    def _named_files(self) -> frozenset[Path]:
        found = (self._included_by(path, role) for role, path in self._task_files)
        return frozenset(path for paths in found for path in paths)

    def is_played(self, path: Path) -> bool:
        """Whether a file in a folder of tasks is one of tasks; some are templates."""
        return path.stem == "main" or path.resolve() in self._named_files

    def _playbooks(self) -> Iterator[Path]:
        yield from (path for path in self.watched if path.is_file())
        for folder in self.play_folders:
            for path in sorted(folder.glob("*.y*ml")):
                if _is_playbook(path):
                    yield path

    def _included_by(self, path: Path, role: Path | None) -> Iterator[Path]:
        for document in readable([path]):
            for named in included(document):
                if "{{" not in named.text:
                    yield from self.files_named(named.text, path, role)

    def files_named(self, name: str, path: Path, role: Path | None) -> list[Path]:
        """The files that a file of a role, or a playbook, may mean by a name."""
        bare = self.inside(name.split(maxsplit=1)[0])
        places = [path.parent, *self.play_folders]
        if role is not None:
            places += [role / "tasks", role / "handlers", role]
        found = dict.fromkeys((place / bare).resolve() for place in places)
        return [one for one in found if one.is_file()]

    def task_files(self) -> Iterator[tuple[Path | None, Path]]:
        """Files of tasks and playbooks, with the role that they belong to."""
        yield from self._task_files

    def variables(self, role: Path | None) -> Variables:
        """What the project says of the variables of a role; of those of all roles for None."""
        defaults: dict[str, object] = {}
        assigned = {name: list(values) for name, values in self._assigned.items()}
        for one in self.roles if role is None else [role]:
            for document in readable(_found(one / "defaults", _YAML)):
                defaults |= {name: item.value for name, item in document.keys.items()}
            for document in readable(_found(one / "vars", _YAML)):
                for name, item in document.keys.items():
                    assigned.setdefault(name, []).append(item.value)
        return Variables(defaults, assigned, self._registered)

    @cached_property
    def _assigned(self) -> dict[str, list[object]]:
        return variables.assigned(readable(path for _, path in self.task_files()))

    @cached_property
    def _registered(self) -> frozenset[str]:
        return frozenset(variables.registered(readable(path for _, path in self.task_files())))

    def local_modules(self) -> set[str]:
        """Names of modules and actions that the project has itself."""
        folders = [*self.play_folders, *self.roles]
        parts = ("library", "action_plugins")
        return {
            path.stem
            for folder in folders
            for part in parts
            for path in (folder / part).glob("**/*.py")
        }

    def plugin_files(self) -> list[Path]:
        """Python files that plays load."""
        folders = [*self.play_folders, *self.roles]
        found = {
            path
            for folder in folders
            for part in PLUGIN_FOLDERS
            for path in (folder / part).glob("**/*.py")
        }
        return sorted(found)

    @cached_property
    def requirements(self) -> Requirements:
        """What is installed beside the project."""
        return required(self.root)

    def searched(self, role: Path | None) -> list[str]:
        """Collections in which short names are looked up: of the role, of plays, of tasks."""
        files = _found(role / "meta", _YAML) if role is not None else []
        files += [path for one, path in self.task_files() if one in (None, role)]
        found: dict[str, None] = {}
        for document in readable(files):
            for keys in (document.keys, *(item.keys for item in document.items)):
                found |= _names(keys.get("collections"))
            for task in tasks_of(document):
                found |= _names(task.keys.get("collections"))
        return list(found)

    def collection(self, name: str) -> Path | None:
        """The folder of a collection that is installed where plays would find it."""
        namespace, _, rest = name.partition(".")
        given = self.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep)
        usual = [folder / "collections" for folder in self.play_folders]
        usual += [Path.home() / ".ansible" / "collections", Path("/usr/share/ansible/collections")]
        for place in [*(Path(path) for path in given if path), *usual]:
            folder = place / "ansible_collections" / namespace / rest
            if folder.is_dir():
                return folder
        return None

    def has_collection(self, name: str) -> bool:
        """Whether a collection is required, or installed where plays would find it."""
        return (
            self.requirements.is_open
            or name in self.requirements.collections
            or self.collection(name) is not None
        )


def open_project(root: Path, watches: str, environ: Mapping[str, str]) -> Project:
    """The project in a folder.

    Raises:
        ConfigError: it has no watches file.
    """
    path = root / watches
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; name the folder of an operator's project")
    return Project(root.resolve(), path.resolve(), environ)


def ansible_folder() -> Path | None:
    """The folder of the installed ansible-core, which is not imported; None without one."""
    spec = importlib.util.find_spec("ansible")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]) if places else None


def _found(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    return sorted(path for path in folder.glob("**/*") if path.suffix in suffixes)


def readable(paths: Iterable[Path]) -> Iterator[Located]:
    """The documents of files; those that are no YAML are reported elsewhere."""
    for path in paths:
        try:
            yield from read(path)
        except UnreadableError:
            continue


def _is_playbook(path: Path) -> bool:
    try:
        return any(is_playbook(document) for document in read(path))
    except UnreadableError:
        return False


def _names(listed: Located | None) -> dict[str, None]:
    """The names of a list, or of one name without a list."""
    if listed is None:
        return {}
    return {item.text: None for item in (listed.items or [listed]) if item.text}
