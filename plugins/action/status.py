# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.status); documented in plugins/modules/status.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.differences import shown_difference
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import ApiError
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes import status_writer
from ..module_utils.reporting.events import occurrence
from ..plugin_utils.kubernetes.action import KubeAction


class ActionModule(KubeAction):
    """Write a resource's status when it has changed, and emit Events."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "status": {"type": "dict"},
        "events": {"type": "list", "elements": "dict", "default": []},
        "report": {"type": "dict"},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "failure": {"type": "str", "default": ""},
        "event_on_refusal": {"type": "str", "default": ""},
        "unless_changed": {"type": "bool", "default": False},
    }
    RULES: ClassVar[dict[str, Any]] = {
        "required_one_of": [["status", "report"]],
        "mutually_exclusive": [["status", "report"]],
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Compare with the live status, write what differs, emit what happened."""
        live = status_writer.find(session, arguments["resource"])
        report = arguments["report"] or {"status": arguments["status"]}
        result: dict[str, Any] = {"changed": False}
        if live is not None:
            try:
                manager = arguments["field_manager"]
                written = status_writer.write(
                    session,
                    live,
                    report["status"],
                    manager,
                    dry_run=self.dry_run,
                    decided_by=arguments["resource"] if arguments["unless_changed"] else None,
                )
            except ApiError as error:
                if arguments["event_on_refusal"] and not self.dry_run:
                    reason, note = arguments["event_on_refusal"], str(error)
                    event = occurrence(reason, note, action="Patch", warning=True)
                    status_writer.emit_all(session, live, [event])
                raise
            result = self._result(live, written)
            if not self.dry_run:
                decided = [*arguments["events"], *report.get("events", ())]
                events = [*decided, *written.occurrences]
                result.update(status_writer.emit_all(session, live, events))
        if arguments["report"]:
            result["requeue"] = report["requeue"]
        if arguments["failure"]:
            result.update(failed=True, msg=arguments["failure"])
        return result

    def _result(self, live: Mapping[str, Any], written: status_writer.Written) -> dict[str, Any]:
        changed = written.after != written.before
        result: dict[str, Any] = {"changed": changed, "status": written.after}
        if changed and self._task.diff:
            shown = shown_difference(f"status of {describe(live)}", None, None)
            result["diff"] = [{**shown, "before": written.before, "after": written.after}]
        return result
