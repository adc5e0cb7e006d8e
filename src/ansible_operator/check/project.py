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
from ansible_operator.check.tasks import is_playbook
from ansible_operator.check.variables import Variables
from ansible_operator.errors import ConfigError

HOME = "/opt/ansible"
"""Where the image has the project."""
PLUGIN_FOLDERS = (
    *("library", "module_utils", "action_plugins", "callback_plugins", "filter_plugins"),
    *("lookup_plugins", "test_plugins", "vars_plugins", "plugins"),
)
_YAML = frozenset({".yml", ".yaml"})


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
    def roles(self) -> list[Path]:
        """The project's roles."""
        folder = self.root / "roles"
        return sorted(path for path in folder.glob("*") if path.is_dir())

    def task_files(self) -> Iterator[tuple[Path | None, Path]]:
        """Files of tasks and playbooks, with the role that they belong to."""
        for role in self.roles:
            for part in ("tasks", "handlers"):
                for path in _found(role / part, _YAML):
                    yield role, path
        for folder in (self.root, self.root / "playbooks"):
            for path in sorted(folder.glob("*.y*ml")):
                if _is_playbook(path):
                    yield None, path

    def variables(self, role: Path | None) -> Variables:
        """What the project says of the variables of a role; of those of all roles for None."""
        defaults: dict[str, object] = {}
        assigned = {name: list(values) for name, values in self._assigned.items()}
        for one in self.roles if role is None else [role]:
            for document in _readable(_found(one / "defaults", _YAML)):
                defaults |= {name: item.value for name, item in document.keys.items()}
            for document in _readable(_found(one / "vars", _YAML)):
                for name, item in document.keys.items():
                    assigned.setdefault(name, []).append(item.value)
        return Variables(defaults, assigned, self._registered)

    @cached_property
    def _assigned(self) -> dict[str, list[object]]:
        return variables.assigned(_readable(path for _, path in self.task_files()))

    @cached_property
    def _registered(self) -> frozenset[str]:
        return frozenset(variables.registered(_readable(path for _, path in self.task_files())))

    def local_modules(self) -> set[str]:
        """Names of modules and actions that the project has itself."""
        folders = [self.root, self.root / "playbooks", *self.roles]
        parts = ("library", "action_plugins")
        return {
            path.stem
            for folder in folders
            for part in parts
            for path in (folder / part).glob("**/*.py")
        }

    def plugin_files(self) -> list[Path]:
        """Python files that plays load."""
        folders = [self.root, self.root / "playbooks", *self.roles]
        found = {
            path
            for folder in folders
            for part in PLUGIN_FOLDERS
            for path in (folder / part).glob("**/*.py")
        }
        return sorted(found)

    @cached_property
    def required_collections(self) -> dict[str, str]:
        """Names and versions of collections in ``requirements.yml``."""
        for path in (self.root / "requirements.yml", self.root / "requirements.yaml"):
            if path.exists():
                return _collections(read(path))
        return {}

    def searched(self, role: Path | None) -> list[str]:
        """Collections in which short names are looked up: of the role, and of all plays."""
        files = [role / "meta" / "main.yml"] if role is not None else []
        plays = [path for one, path in self.task_files() if one is None]
        found: dict[str, None] = {}
        for path in [*files, *plays]:
            try:
                documents = read(path) if path.exists() else []
            except UnreadableError:
                continue
            for part in (item for document in documents for item in (document, *document.items)):
                listed = part.keys.get("collections")
                found |= {item.text: None for item in (listed.items if listed else [])}
        return list(found)

    def collection(self, name: str) -> Path | None:
        """The folder of a collection that is installed where plays would find it."""
        namespace, _, rest = name.partition(".")
        given = self.environ.get("ANSIBLE_COLLECTIONS_PATH", "").split(os.pathsep)
        usual = [self.root / "collections", Path.home() / ".ansible" / "collections"]
        for place in [*(Path(path) for path in given if path), *usual]:
            folder = place / "ansible_collections" / namespace / rest
            if folder.is_dir():
                return folder
        return None

    def has_collection(self, name: str) -> bool:
        """Whether a collection is required, or installed where plays would find it."""
        return name in self.required_collections or self.collection(name) is not None


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


def _readable(paths: Iterable[Path]) -> Iterator[Located]:
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


def _collections(documents: Iterable[Located]) -> dict[str, str]:
    found: dict[str, str] = {}
    for document in documents:
        listed = document.keys.get("collections")
        for item in listed.items if listed else []:
            if item.text:
                found[item.text] = ""
            elif "name" in item.keys:
                version = item.keys.get("version")
                found[item.keys["name"].text] = version.text if version else ""
    return found
