# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.snapshot); see plugins/modules/snapshot.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api import versions
from ..module_utils.api.errors import InvalidSpec
from ..module_utils.snapshot import snapshots
from ..module_utils.snapshot.scopes import Scope, record_name
from ..module_utils.snapshot.snapshots import Snapshot
from ..plugin_utils.snapshot.action import (
    OPTIONS,
    Database,
    Refused,
    VersionsAction,
    require_restorable,
    scope_of,
)

Json = dict[str, Any]


class ActionModule(VersionsAction):
    """Take, drop or restore a snapshot of a database."""

    SPEC: ClassVar[Json] = OPTIONS
    RULES: ClassVar[Json] = {
        "required_by": {"table": ["database"]},
        "mutually_exclusive": [["cluster", "account"], ["cluster", "database"]],
    }

    def act(self, database: Database, arguments: Json) -> Json:
        """Find the snapshot, and do what its state asks for."""
        name = record_name(arguments["name"])
        scope = scope_of(arguments, database.account)
        before = _found(database, name)
        if arguments["state"] == "restored":
            return self._restore(database, _required(before, name), scope)
        if scope.database:
            raise InvalidSpec("database", "is for state=restored; a snapshot covers an account")
        if arguments["state"] == "absent":
            if before and not self.dry_run:
                database.ask(snapshots.dropping(name))
            return _result(before, None, changed=before is not None)
        return self._take(database, name, scope, before)

    def _take(self, database: Database, name: str, scope: Scope, before: Snapshot | None) -> Json:
        if before:
            if not (before.scope.holds(scope) and scope.holds(before.scope)):
                raise Refused("Different", f"snapshot {name} is of {before.scope}, not of {scope}")
            return _result(before, before, changed=False)
        if self.dry_run:
            return _result(None, None, changed=True)
        database.ask(snapshots.creating(name, scope))
        return _result(None, _required(_found(database, name), name), changed=True)

    def _restore(self, database: Database, snapshot: Snapshot, scope: Scope) -> Json:
        name = snapshot.name
        if not snapshot.scope.holds(scope):
            raise Refused("Different", f"snapshot {name} is of {snapshot.scope}, not of {scope}")
        require_restorable(database, scope, snapshots.at(name), f"in snapshot {name}")
        if not self.dry_run:
            self.say(f"Restoring {scope} from snapshot {name}")
            [(said,)] = database.ask(snapshots.VERSION)
            database.ask(snapshots.restoring(name, scope, versions.reported(str(said))))
        return _result(snapshot, snapshot, changed=True)


def _found(database: Database, name: str) -> Snapshot | None:
    return snapshots.found(database.ask(snapshots.listing(name)))


def _required(snapshot: Snapshot | None, name: str) -> Snapshot:
    if snapshot is None:
        raise Refused("NotThere", f"there is no snapshot {name}")
    return snapshot


def _result(before: Snapshot | None, after: Snapshot | None, *, changed: bool) -> Json:
    shown = [one.document if one else {} for one in (before, after)]
    return {
        "changed": changed,
        "snapshot": shown[1] or shown[0],
        "diff": {"before": shown[0], "after": shown[1]},
    }
