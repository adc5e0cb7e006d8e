# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.backup_info).

It is documented in plugins/modules/backup_info.py.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils.backup.manifest import to_document
from ..module_utils.backup.program import options
from ..module_utils.backup.program.listing import backups
from ..module_utils.backup.program.stores import Mounts
from ..module_utils.location.locations import TARGET
from ..plugin_utils.backup.action import BackupAction


class ActionModule(BackupAction):
    """List the backups below a prefix or folder."""

    SPEC: ClassVar[dict[str, Any]] = {"location": {**options.LOCATION, "required": True}}

    def act(self, arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Return the records of the complete backups, the oldest first."""
        place = options.location_of("location", arguments["location"], TARGET)
        options.write_secrets(folder, TARGET, arguments["location"])
        store = Mounts(folder).open(place)
        store.require()
        found = [
            {"path": posixpath.join(place.address, path).rstrip("/"), **to_document(manifest)}
            for path, manifest in backups(store)
        ]
        return {"changed": False, "backups": found}
