# SPDX-License-Identifier: Apache-2.0
"""Where in Pods a shared folder cannot be: over, above or inside what the Pods have there already.

A folder at the path of one of our own volumes is not mounted at all, since a container has one
volume at a path; over a folder of ours it hides what a store keeps for itself.
"""

from __future__ import annotations

from typing import Final

from ..api import names

_SYSTEM: Final = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/run",
)
"""Folders of an image, and those in which container runtimes mount files of their own."""
RESERVED: Final = tuple(sorted({*_SYSTEM, *names.OWN_MOUNTS}))
"""The crds have the same list as a pattern."""
_OF_STORES: Final = (*names.OWN_MOUNTS, names.DATA_DIR, names.DISK_CACHE_DIR)


def folder_mistake(path: str) -> str:
    """Say why a folder cannot be mounted at a path; empty if it can.

    Args:
        path: in its normal form.
    """
    for reserved in RESERVED:
        if path == reserved or path.startswith(f"{reserved}/"):
            return f"{path!r} must not be {reserved} or inside it{_BESIDE}"
        if reserved.startswith(f"{path.rstrip('/')}/"):
            return f"{path!r} must not contain {reserved}{_BESIDE}"
    return ""


def is_never_shared(path: str) -> bool:
    """Return whether Pods that run do not share what is at a path, or hide their own files there.

    Args:
        path: in its normal form, of storage that is in use.
    """
    return path in _OF_STORES


_BESIDE: Final = (
    ", which the Pods use themselves; choose another folder, such as /var/lib/matrixone-shared"
)
