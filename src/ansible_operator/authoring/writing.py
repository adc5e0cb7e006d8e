# SPDX-License-Identifier: Apache-2.0
"""Writes what authors get; never over anything that exists."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ansible_operator.errors import ConfigError

_IGNORED = frozenset({".git"})


def require_empty(folder: Path) -> None:
    """Refuse a folder in which somebody has begun something.

    Raises:
        ConfigError: it has files, other than those of Git, or is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; name a folder")
    # Of new/.. the parent counts, which exists even where new does not.
    found = sorted(path.name for path in folder.resolve().glob("*") if path.name not in _IGNORED)
    if "watches.yaml" in found:
        raise ConfigError(
            f"{folder} is a project already; add a kind to it with ansible-operator add-kind"
        )
    if found:
        raise ConfigError(
            f"{folder} is not empty, it has {found[0]}; name a new folder, because nothing that "
            "exists is overwritten"
        )


def require_absent(folder: Path, paths: Iterable[str]) -> None:
    """Refuse to write over files.

    Raises:
        ConfigError: one of them exists.
    """
    found = [path for path in paths if (folder / path).exists()]
    if found:
        raise ConfigError(
            f"{folder} has {', '.join(found)} already, and nothing that exists is overwritten; "
            "rename what is there, or choose another kind"
        )


def create(folder: Path, files: Mapping[str, str]) -> None:
    """Write new files.

    Raises:
        ConfigError: one of them exists, or cannot be written; the message says which.
    """
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def change(path: Path, text: str) -> None:
    """Replace a file as a whole, so that an interrupt leaves the old or the new one.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        mode = path.stat().st_mode
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        temporary = Path(name)
        temporary.chmod(mode & 0o7777)
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def copy_role(source: Path, target: Path) -> None:
    """Copy the folder of a role.

    Raises:
        ConfigError: it cannot be read, or the target exists.
    """
    try:
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except (OSError, shutil.Error) as error:
        raise ConfigError(f"{source} cannot be copied to {target}: {error}") from error
