# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the folder of a backup: where the Job and the compute nodes mount it."""

from __future__ import annotations

from typing import Final

from ..api import names
from ..api.fields import Fields
from ..location.errors import InvalidLocation
from ..location.folders import is_never_shared
from ..location.paths import parse_folder
from .task import tasks

_OF_JOB: Final = (tasks.FOLDER, names.TEMP_MOUNT)


def require_mountable(place: Fields) -> None:
    """Refuse a folder over what Pods have there already, or outside of its volume.

    Args:
        place: a table with ``s3`` or ``fileSystem`` that is a location.

    Raises:
        InvalidSpec: it cannot be mounted; it names the field.
    """
    files = place.table("fileSystem")
    folder = files.text("path").rstrip("/")
    if is_never_shared(folder):
        raise files.refuse("path", f"{folder!r} is where compute nodes have files of their own")
    written = files.text("mountPath")
    if not written:
        return
    try:
        mount = parse_folder(written)
    except InvalidLocation as error:
        raise files.refuse("mountPath", str(error)) from error
    if mount in _OF_JOB:
        raise files.refuse("mountPath", f"{mount!r} is where the Job has files of its own")
    if not f"{folder}/".startswith(f"{mount}/"):
        raise files.refuse("mountPath", f"must be {folder} or a folder above it, not {mount}")
