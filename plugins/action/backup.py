# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.backup); documented in plugins/modules/backup.py."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils.api.owners import PLAYBOOK, Owner
from ..module_utils.backup.manifest import FULL, INCREMENTAL, Manifest, Origin, to_document
from ..module_utils.backup.program import continued, identities, options
from ..module_utils.backup.program import main as program
from ..module_utils.backup.program.backing_up import Making, made
from ..module_utils.backup.program.deleting import deletable
from ..module_utils.backup.program.errors import TaskFailed
from ..module_utils.backup.program.opened import record
from ..module_utils.backup.program.statements import target_of
from ..module_utils.backup.program.stores import Mounts
from ..module_utils.backup.task.tasks import BaseBackup, Login, Reason, Task, Verb
from ..module_utils.location.locations import TARGET, Location
from ..plugin_utils.backup.action import SETTINGS, BackupAction

Json = dict[str, Any]
_LOGIN = ("login_host", "login_user", "login_password")


class ActionModule(BackupAction):
    """Make a backup of a database by SQL and prove it whole, or delete one."""

    SPEC: ClassVar[Json] = {
        "target": {**options.LOCATION, "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "base": {"type": "str"},
        "id": {"type": "str"},
        "login_host": {"type": "str"},
        "login_port": {"type": "int", "default": 6001},
        "login_user": {"type": "str"},
        "login_password": {"type": "str", "no_log": True},
        "login_certificates": {"type": "str", "default": ""},
        "storage": options.LOCATION,
        "source": {
            "type": "dict",
            "options": {name: {"type": "str"} for name in ("kind", "namespace", "name")},
        },
        "verify": {"type": "bool", "default": False},
        **SETTINGS,
    }
    RULES: ClassVar[Json] = {"required_if": [("state", "present", _LOGIN)]}

    def act(self, arguments: Json, folder: Path) -> Json:
        """Make the backup unless it is there, or delete it unless it is gone."""
        options.write_secrets(folder, TARGET, arguments["target"])
        mounts = Mounts(folder, arguments["parallelism"])
        if arguments["state"] == "absent":
            return self._delete(arguments, mounts)
        options.write_login(
            folder,
            arguments["login_user"],
            arguments["login_password"],
            arguments["login_certificates"],
        )
        return self._make(arguments, mounts)

    def _make(self, arguments: Json, mounts: Mounts) -> Json:
        task, progress = _task(arguments, mounts), self.progress(arguments["timeout"])
        store = mounts.open(target_of(task))
        making = Making(task, mounts, store, mounts.open, progress)
        before = made(making)
        after = before
        if before is None and not self.dry_run:
            after = program.carry_out(task, mounts, progress)
        elif before is not None and arguments["verify"]:
            check = Task(Verb.VERIFY, task.id, source=task.target, parallelism=task.parallelism)
            program.carry_out(check, mounts, progress)
        planned = {"type": task.type, **({"id": task.id} if arguments["id"] else {})}
        return _result(before, after, changed=before is None, planned=planned)

    def _delete(self, arguments: Json, mounts: Mounts) -> Json:
        target = options.location_of("target", arguments["target"], TARGET)
        task = Task(
            Verb.DELETE,
            options.id_of("delete", target),
            owner=_owner(target),
            target=target,
            expected_id=arguments["id"],
            parallelism=arguments["parallelism"],
        )
        progress = self.progress(arguments["timeout"])
        store = mounts.open(target)
        found = deletable(task, store, progress)
        if found.manifest is not None:
            continued.require_last(store, found.manifest)
        if found.mark and not self.dry_run:
            program.carry_out(task, mounts, progress)
        return _result(found.manifest, None, changed=found.mark is not None)


def _task(arguments: Json, mounts: Mounts) -> Task:
    target = options.location_of("target", arguments["target"], TARGET)
    storage, source = arguments["storage"], arguments["source"] or {}
    base = _base(arguments["base"], target, mounts) if arguments["base"] else None
    own = (options.location_of("storage", storage, TARGET),) if storage else ()
    owner = _owner(target)
    return Task(
        verb=Verb.BACKUP,
        id=arguments["id"] or identities.id_at(mounts.open(target), owner.uid),
        owner=owner,
        type=INCREMENTAL if base else FULL,
        base=base,
        login=Login(
            arguments["login_host"],
            arguments["login_port"],
            tls=bool(arguments["login_certificates"]),
        ),
        origin=Origin(*(source.get(name) or "" for name in ("kind", "namespace", "name"))),
        target=target,
        forbidden=own,
        deadline_seconds=arguments["timeout"],
        parallelism=arguments["parallelism"],
    )


def _owner(target: Location) -> Owner:
    return Owner(PLAYBOOK, name=platform.node(), uid=options.id_of("backup", target))


def _base(address: str, target: Location, mounts: Mounts) -> BaseBackup:
    place = target.at(address)
    found = record(mounts.open(place))
    if found is None:
        raise TaskFailed(Reason.BASE_MISSING, f"base: {address} holds no complete backup")
    return BaseBackup(place, found.id)


def _result(
    before: Manifest | None, after: Manifest | None, *, changed: bool, planned: Json | None = None
) -> Json:
    shown = [to_document(one) if one else {} for one in (before, after)]
    return {
        "changed": changed,
        "backup": shown[1] or shown[0],
        "diff": {"before": shown[0], "after": shown[1] or planned or {}},
    }
