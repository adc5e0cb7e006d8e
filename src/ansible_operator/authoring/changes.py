# SPDX-License-Identifier: Apache-2.0
"""Which files of a project have changed."""

import os
from pathlib import Path

Fingerprint = dict[str, tuple[int, int]]
"""Time of change in nanoseconds and size in bytes, by the path in the project."""
_LEFT_OUT = frozenset({"tests", "molecule", "__pycache__", "node_modules"})
_PLAYED_CONFIG = "config/crd"


def fingerprint(project: Path) -> Fingerprint:
    """All files that an operator plays, and the CRDs; hidden and temporary files are left out."""
    found: Fingerprint = {}
    for folder, folders, names in os.walk(project):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _LEFT_OUT]
        for name in names:
            path = Path(folder, name)
            inside = path.relative_to(project).as_posix()
            if name.startswith(".") or name.endswith(("~", ".swp", ".log")):
                continue
            if inside.startswith("config/") and not inside.startswith(f"{_PLAYED_CONFIG}/"):
                continue
            try:
                state = path.stat()
            except OSError:  # deleted meanwhile
                continue
            found[inside] = (state.st_mtime_ns, state.st_size)
    return found


def changed(before: Fingerprint, after: Fingerprint) -> list[str]:
    """The paths that are new, gone or different."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
