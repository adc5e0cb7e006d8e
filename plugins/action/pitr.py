# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.pitr); see plugins/modules/pitr.py."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, ClassVar

from ..module_utils.snapshot import moments, ranges
from ..module_utils.snapshot.ranges import Length, Range
from ..module_utils.snapshot.scopes import Scope, record_name
from ..plugin_utils.snapshot.action import (
    OPTIONS,
    Database,
    Refused,
    VersionsAction,
    require_restorable,
    scope_of,
)

Json = dict[str, Any]
_UTC = frozenset({"", "UTC", "Etc/UTC", "GMT"})


class ActionModule(VersionsAction):
    """Keep older versions of rows for some time, or restore what was there at a moment."""

    SPEC: ClassVar[Json] = {
        **OPTIONS,
        "keep": {"type": "int"},
        "unit": {"type": "str", "choices": list(ranges.UNITS), "default": "days"},
        "at": {"type": "str"},
    }
    RULES: ClassVar[Json] = {
        "required_if": [("state", "present", ("keep",)), ("state", "restored", ("at",))],
        "required_by": {"table": ["database"]},
        "mutually_exclusive": [["cluster", "account"], ["cluster", "database"]],
    }

    def act(self, database: Database, arguments: Json) -> Json:
        """Find the range, and do what its state asks for."""
        name = record_name(arguments["name"])
        scope = scope_of(arguments, database.account)
        before = _found(database, name)
        if arguments["state"] == "restored":
            moment = moments.parsed("at", arguments["at"])
            return self._restore(database, _required(before, name), scope, moment)
        if arguments["state"] == "absent":
            if before and not self.dry_run:
                database.ask(ranges.dropping(name))
            return _result(before, None, changed=before is not None)
        length = Length.of(arguments["keep"], arguments["unit"])
        if before:
            return self._change(database, before, scope, length)
        if self.dry_run:
            return _result(None, None, changed=True)
        database.ask(ranges.creating(name, scope, length, database.account))
        return _result(None, _required(_found(database, name), name), changed=True)

    def _change(self, database: Database, before: Range, scope: Scope, length: Length) -> Json:
        if not (before.scope.holds(scope) and scope.holds(before.scope)):
            raise Refused("Different", f"pitr {before.name} covers {before.scope}, not {scope}")
        if before.length == length:
            return _result(before, before, changed=False)
        if self.dry_run:
            return _result(before, before, changed=True)
        database.ask(ranges.changing(before.name, length))
        return _result(before, _found(database, before.name), changed=True)

    def _restore(self, database: Database, found: Range, scope: Scope, moment: datetime) -> Json:
        wrong = ranges.problem(found, scope, moment, datetime.now(timezone.utc))
        if wrong:
            raise Refused("OutOfRange", wrong)
        _require_utc(database)
        require_restorable(database, scope, ranges.at(moment), f"at {moments.shown(moment)}")
        if not self.dry_run:
            self.say(f"Restoring {scope} as it was at {moments.shown(moment)}")
            database.ask(ranges.restoring(found.name, scope, moment, database.account))
        return _result(found, found, changed=True)


def _require_utc(database: Database) -> None:
    """Check that the database reads moments as this module writes them, in UTC.

    Raises:
        Refused: it reads them in another zone.
    """
    [(zone,)] = database.ask(ranges.ZONE)
    if str(zone) not in _UTC:
        raise Refused("OtherZone", f"the compute node's time zone is {zone}; set it to UTC")


def _found(database: Database, name: str) -> Range | None:
    return ranges.found(database.ask(ranges.LISTING, ranges.IN_UTC), name)


def _required(found: Range | None, name: str) -> Range:
    if found is None:
        raise Refused("NotThere", f"there is no pitr {name}")
    return found


def _result(before: Range | None, after: Range | None, *, changed: bool) -> Json:
    shown = [one.document if one else {} for one in (before, after)]
    return {
        "changed": changed,
        "pitr": shown[1] or shown[0],
        "diff": {"before": shown[0], "after": shown[1]},
    }
