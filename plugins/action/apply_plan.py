# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply_plan); see plugins/modules/apply_plan.py."""

from __future__ import annotations

from typing import Any, ClassVar

from ..module_utils.api.plain import plain
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes.carrying_out import carry_out
from ..module_utils.workload.plans import Plan
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes

Json = dict[str, Any]
_RECORDS = f"{FIELD_MANAGER}-records"
"""Owner of the fields in which decisions are recorded: no pass removes them by leaving them out."""


class ActionModule(KubeAction):
    """Record what a plan decided, apply its objects, delete what is no longer desired."""

    SPEC: ClassVar[dict[str, Any]] = {
        "plan": {"type": "dict", "required": True},
        "resource": {"type": "dict", "required": True},
        "identified_by": {"type": "list", "elements": "str", "default": []},
        "refuse_invalid": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Carry the plan out; it is part of the result, after an error, too."""
        return {**self._outcome(session, arguments), "plan": arguments["plan"]}

    def _outcome(self, session: Session, arguments: Json) -> Json:
        plan, resource = Plan.read(arguments["plan"]), arguments["resource"]
        if plan.invalid and arguments["refuse_invalid"]:
            title = f"{resource['kind']} {resource['metadata']['name']}"
            return {"changed": False, "failed": True, "msg": f"{title}: {plan.invalid}"}
        recorded, changes = Changes(), Changes()
        recorder = Writer(session, field_manager=_RECORDS, dry_run=self.dry_run)
        writer = Writer(
            session,
            dry_run=self.dry_run,
            owner=resource,
            identified_by=arguments["identified_by"],
        )
        try:
            recorded.add(map(recorder.apply, plan.records))
            changes.add(carry_out(writer, _asked(plan)))
        except KubeError as error:
            return _joined(recorded.result(), changes.failed(error))
        shown = self._task.diff
        return _joined(recorded.result(diff=shown), changes.result(diff=shown))


def _asked(plan: Plan) -> Json:
    """Return a plan as options of M(matrixorigin.matrixone.apply)."""
    return {
        "objects": plan.objects,
        "create_only": plan.create_only,
        "patches": plan.patches,
        "prune": plain(plan.prune),
        "generations": plan.generations,
    }


def _joined(recorded: Json, result: Json) -> Json:
    """Return a result that shows what was recorded, but does not count it among the objects."""
    joined = {
        **result,
        "changed": recorded["changed"] or result["changed"],
        "changes": recorded["changes"] + result["changes"],
    }
    if "diff" in result:
        joined["diff"] = recorded["diff"] + result["diff"]
    return joined
