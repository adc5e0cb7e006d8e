# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.status); documented in plugins/modules/status.py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, ClassVar

from ..module_utils.clients.kube.applying import FIELD_MANAGER, Writer
from ..module_utils.clients.kube.differences import shown_difference
from ..module_utils.clients.kube.emitting import emit
from ..module_utils.clients.kube.errors import ApiError, KubeError
from ..module_utils.clients.kube.kinds import describe
from ..module_utils.clients.kube.session import Session
from ..module_utils.clients.kube.statuses import write_status
from ..module_utils.status.conditions import with_times
from ..module_utils.status.events import Occurrence, occurrence, transitions
from ..plugin_utils.kube_action import KubeAction


class ActionModule(KubeAction):
    """Write a resource's status when it says something new, and tell it as Events."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "status": {"type": "dict", "required": True},
        "events": {"type": "list", "elements": "dict", "default": []},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "failure": {"type": "str", "default": ""},
        "event_on_refusal": {"type": "str", "default": ""},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Compare with the live status, write what differs, emit what happened."""
        resource = arguments["resource"]
        live = Writer(session).get(resource)
        result: dict[str, Any] = {"changed": False}
        if live is not None and _same_object(live, resource):
            now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            before = live.get("status") or {}
            wanted = with_times(arguments["status"], before, now)
            events: list[Occurrence] = [*arguments["events"], *transitions(before, wanted)]
            try:
                result = self._written(session, live, wanted, arguments["field_manager"])
            except ApiError as error:
                if arguments["event_on_refusal"] and not self.dry_run:
                    reason, said = arguments["event_on_refusal"], str(error)
                    told = [occurrence(reason, said, action="Patch", warning=True)]
                    _emitted(session, live, told)
                raise
            if not self.dry_run:
                result.update(_emitted(session, live, events))
        if arguments["failure"]:
            result.update(failed=True, msg=arguments["failure"])
        return result

    def _written(
        self, session: Session, live: Mapping[str, Any], wanted: dict[str, Any], manager: str
    ) -> dict[str, Any]:
        before = live.get("status") or {}
        if before == wanted:
            return {"changed": False, "status": wanted}
        after = write_status(session, live, wanted, manager, dry_run=self.dry_run)
        changed = (after.get("status") or {}) != before
        result: dict[str, Any] = {"changed": changed, "status": after.get("status")}
        if changed and self._task.diff:
            shown = shown_difference(f"status of {describe(live)}", None, None)
            result["diff"] = [{**shown, "before": before, "after": after.get("status")}]
        return result


def _same_object(live: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    """Tell whether the live object is the one that was looked at, not a namesake made later."""
    uid = resource["metadata"].get("uid")
    return not uid or live["metadata"]["uid"] == uid


def _emitted(session: Session, live: Mapping[str, Any], events: list[Occurrence]) -> dict[str, Any]:
    """Emit events; that they cannot be emitted is worth a warning, not a failure."""
    try:
        for event in events:
            emit(session, live, event)
    except KubeError as error:
        return {"warnings": [str(error)]}
    return {"events": [event["reason"] for event in events]}
