# SPDX-License-Identifier: Apache-2.0
"""Keep a backup that another one beside it continues."""

from __future__ import annotations

import posixpath

from ...module_utils.backup.manifest import Manifest
from ...module_utils.backup.tasks import Reason
from ...module_utils.location.locations import FolderLocation, Location
from .errors import TaskFailed
from .listing import backups
from .stores import Mounts


def require_last(location: Location, manifest: Manifest, mounts: Mounts) -> None:
    """Return when no backup beside a backup continues it.

    Args:
        location: of the backup.
        manifest: its record.
        mounts: opens the folder that it is in.

    Raises:
        TaskFailed: ChainBroken: without it, another one could not be restored.
    """
    above = posixpath.dirname(location.address)
    if isinstance(location, FolderLocation):
        above = posixpath.dirname(location.path)
    if above in ("", "/"):
        return
    for path, other in backups(mounts.open(location.at(above))):
        if other.base and other.base.id == manifest.id:
            raise TaskFailed(
                Reason.CHAIN_BROKEN,
                f"{location.address} is not deleted: the backup {other.id} at "
                f"{posixpath.join(above, path)} continues it; delete that one first",
            )
