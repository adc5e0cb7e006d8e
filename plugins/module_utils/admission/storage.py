# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the storage of a set, and what a user should know about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..location import locations
from ..location.folders import folder_mistake, is_never_shared
from ..location.locations import FolderLocation
from .shapes import Mistake


def disk_cache_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of a disk cache that has no volume."""
    size = (spec.get("sharedStorageCache") or {}).get("diskCacheSize")
    if size and not spec.get("cacheVolume"):
        yield (
            f"{path}.sharedStorageCache.diskCacheSize: without cacheVolume the cache takes up "
            "the container's own file system"
        )


def shared_storage_mistakes(path: str, storage: Any, overlay: Any) -> Iterator[Mistake]:
    """Yield what is wrong with where a database is to have its data.

    A path that MatrixOne can use although the grammar does not have it is refused of new databases
    alone: it can never be changed.

    Args:
        path: of the table.
        storage: a ``sharedStorage`` table.
        overlay: of the Pods, which may bring the volume; None where it is not known.
    """
    if not isinstance(storage, Mapping):
        return
    fields = Fields(path, storage)
    try:
        place = locations.from_fields(fields, locations.TARGET, in_use=True)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)
        return
    try:
        locations.from_fields(fields, locations.TARGET)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message, at_creation=True)
        return
    if isinstance(place, FolderLocation):
        yield from _folder_mistakes(fields.table("fileSystem"), place.path, overlay)


def _folder_mistakes(files: Fields, folder: str, overlay: Any) -> Iterator[Mistake]:
    if mistake := folder_mistake(folder):
        yield Mistake(files.at("path"), mistake, at_creation=not is_never_shared(folder))
    elif not (files.raw("volume") or files.raw("claim") or overlay is None):
        yield from mount_mistakes(files.path, folder, overlay)


def mount_mistakes(path: str, folder: str, overlay: Any) -> Iterator[Mistake]:
    """Yield that an overlay mounts no volume for a folder that nothing else mounts.

    Args:
        path: of the field that is reported.
        folder: its path in the Pods.
        overlay: of the Pods.
    """
    mounts = overlay.get("volumeMounts") if isinstance(overlay, Mapping) else None
    for mount in mounts if isinstance(mounts, list) else []:
        above = mount.get("mountPath") if isinstance(mount, Mapping) else None
        if isinstance(above, str) and f"{folder}/".startswith(f"{above.rstrip('/')}/"):
            return
    message = (
        f"has neither volume nor claim, and the overlay mounts nothing at {folder}, so that each "
        "Pod would have data of its own; add one of them"
    )
    yield Mistake(path, message, at_creation=True)
