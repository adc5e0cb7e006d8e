# SPDX-License-Identifier: Apache-2.0
"""The collections and roles that a project has installed into its image."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ansible_operator.check.documents import Located, UnreadableError, read

FILES = tuple(
    f"{folder}requirements.{suffix}"
    for folder in ("", "collections/", "roles/")
    for suffix in ("yml", "yaml")
)
_NAME = re.compile(r"([a-z_]\w*\.[a-z_]\w*)(?:[:=<>!].*)?")
_ARCHIVE = re.compile(r"([a-z_]\w*)-([a-z_]\w*)-\d[\w.+-]*")
_FROM_ELSEWHERE = frozenset({"git", "url", "file", "dir", "subdirs"})


@dataclass(frozen=True, slots=True)
class Requirements:
    """What is installed beside the project.

    Attributes:
        collections: their names.
        roles: names of roles.
        is_open: whether there is a source, such as a folder, that does not tell what it contains.
    """

    collections: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    is_open: bool = False


@dataclass(slots=True)
class _Found:
    collections: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)
    is_open: bool = False

    def collection(self, name: str, kind: str) -> None:
        plain = _NAME.fullmatch(name)
        if plain and kind not in _FROM_ELSEWHERE:
            self.collections.add(plain[1])
            return
        last = re.split("[#,]", name)[0].rstrip("/").rpartition("/")[2]
        last = last.removesuffix(".git").removesuffix(".tar.gz")
        archive = _ARCHIVE.fullmatch(last)
        if archive:
            self.collections.add(f"{archive[1]}.{archive[2]}")
        elif _NAME.fullmatch(last):
            self.collections.add(last)
        else:
            self.is_open = True


def files(root: Path) -> Iterator[Path]:
    """The files of requirements, by the usual names and as Dockerfiles name them."""
    named = [root / name for name in FILES]
    for words in _installs(root):
        options = ("-r", "--requirements-file", "--role-file")
        for option, value in pairwise(words):
            if option in options:
                named += sorted(root.glob(f"**/{Path(value).name}")) if Path(value).name else []
    yield from (path for path in dict.fromkeys(named) if path.is_file())


def required(root: Path) -> Requirements:
    """What files of requirements and Dockerfiles name; files that are no YAML name nothing."""
    found = _Found()
    for path in files(root):
        try:
            documents = read(path)
        except UnreadableError:
            found.is_open = True
            continue
        _take(found, documents)
    for words in _installs(root):
        for word in words:
            if _NAME.fullmatch(word) or word.endswith(".tar.gz") or word.startswith("git+"):
                found.collection(word, "")
    return Requirements(frozenset(found.collections), frozenset(found.roles), found.is_open)


def _take(found: _Found, documents: Iterable[Located]) -> None:
    for document in documents:
        for item in _listed(document, "collections"):
            name = item.keys.get("name") or item.keys.get("source")
            kind = item.keys["type"].text if "type" in item.keys else ""
            found.collection(item.text or (name.text if name else ""), kind)
        for item in [*_listed(document, "roles"), *document.items]:
            source = item.keys.get("name") or item.keys.get("src")
            written = (item.text or (source.text if source else "")).rstrip("/")
            found.roles.add(written.rpartition("/")[2].removesuffix(".git"))


def _listed(document: Located, key: str) -> list[Located]:
    return document.keys[key].items if key in document.keys else []


def _installs(root: Path) -> Iterator[list[str]]:
    """The words of the commands of ``ansible-galaxy`` in Dockerfiles."""
    for pattern in ("*Dockerfile*", "*Containerfile*", "build/*Dockerfile*"):
        for path in sorted(root.glob(pattern)):
            if not path.is_file():
                continue
            text = path.read_text(errors="replace").replace("\\\n", " ")
            for command in re.findall(r"ansible-galaxy[^\n;&|]*", text):
                yield [word.strip("'\"") for word in command.split()]
