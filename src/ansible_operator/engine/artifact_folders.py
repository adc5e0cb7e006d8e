# SPDX-License-Identifier: Apache-2.0
"""The artifact folders of all objects together: how many there may be."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

_DEEPEST = 6
"""Folders between the root and an object's artifacts: group, version, kind, namespace, name."""
_ABANDONED_SECONDS = 86_400.0
"""Time after which a folder without a result belongs to a run of an operator that was killed."""


def remove_oldest(root: Path, keep: int) -> int:
    """Remove the oldest artifact folders of ended runs until ``keep`` are left.

    Args:
        root: folder of the private data directories of all objects.
        keep: how many folders stay; those of runs under way always do.

    Returns:
        The number of folders that were removed.

    Raises:
        OSError: the root cannot be read.
    """
    found = sorted(_ended(root), reverse=True)
    for _, path in found[keep:]:
        shutil.rmtree(path, ignore_errors=True)
    return max(0, len(found) - keep)


def _ended(root: Path) -> Iterator[tuple[int, str]]:
    """Yield time and path of every artifact folder whose run has ended."""
    abandoned = time.time_ns() - int(_ABANDONED_SECONDS * 1e9)
    for artifacts in _artifacts(str(root), _DEEPEST):
        for entry in _folders(artifacts):
            changed = entry.stat(follow_symlinks=False).st_mtime_ns
            if changed < abandoned or Path(entry.path, "rc").exists():
                yield changed, entry.path


def _artifacts(folder: str, levels: int) -> Iterator[str]:
    """Yield the artifact folders below a folder.

    A private data directory is known by a file of its own: objects and namespaces may be called
    ``artifacts``.
    """
    if Path(folder, "env", "envvars").is_file():
        yield f"{folder}/artifacts"
    elif levels > 1:
        for entry in _folders(folder):
            yield from _artifacts(entry.path, levels - 1)


def _folders(path: str) -> list["os.DirEntry[str]"]:
    """The folders in a folder; none if it is gone: objects are deleted meanwhile."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
