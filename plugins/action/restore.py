# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.restore); documented in plugins/modules/restore.py."""

from __future__ import annotations

import platform
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils.api.owners import PLAYBOOK, Owner
from ..module_utils.backup.manifest import to_document
from ..module_utils.backup.program import main as program
from ..module_utils.backup.program import options
from ..module_utils.backup.program.restoring import restored
from ..module_utils.backup.program.statements import target_of
from ..module_utils.backup.program.stores import Mounts
from ..module_utils.backup.task.tasks import Task, Verb
from ..module_utils.location.locations import SOURCE, TARGET
from ..plugin_utils.backup.action import SETTINGS, BackupAction

Json = dict[str, Any]


class ActionModule(BackupAction):
    """Copy a backup to the empty storage of a new cluster."""

    SPEC: ClassVar[Json] = {
        "source": {**options.LOCATION, "required": True},
        "target": {**options.LOCATION, "required": True},
        "id": {"type": "str"},
        **SETTINGS,
    }

    def act(self, arguments: Json, folder: Path) -> Json:
        """Copy the backup unless it was copied before."""
        task = _task(arguments)
        for role in (SOURCE, TARGET):
            options.write_secrets(folder, role, arguments[role])
        mounts, progress = Mounts(folder, task.parallelism), self.progress(arguments["timeout"])
        store = mounts.open(target_of(task))
        backup, done = restored(task, partial(mounts.open, role=SOURCE), store, progress)
        manifest = None
        if not done and not self.dry_run:
            manifest = program.carry_out(task, mounts, progress)
        held = {"backup": backup}
        return {
            "changed": not done,
            "id": backup,
            "backup": to_document(manifest) if manifest else {},
            "diff": {"before": held if done else {}, "after": held},
        }


def _task(arguments: Json) -> Task:
    source = options.location_of("source", arguments["source"], SOURCE)
    target = options.location_of("target", arguments["target"], TARGET)
    return Task(
        verb=Verb.RESTORE,
        owner=Owner(PLAYBOOK, name=platform.node()),
        id=options.id_of("restore", source, target),
        source=source,
        target=target,
        expected_id=arguments["id"],
        deadline_seconds=arguments["timeout"],
        parallelism=arguments["parallelism"],
    )
