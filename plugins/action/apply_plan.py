# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply_plan); see plugins/modules/apply_plan.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..module_utils.api.plain import plain
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.outcomes import Outcome, identity
from ..module_utils.clients.kubernetes.selecting import prune
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.workload.plans import Plan, named
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes
from ..plugin_utils.kubernetes.selections import selections, users

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
        try:
            recorder = Writer(session, field_manager=_RECORDS, dry_run=self.dry_run)
            recorded.add(map(recorder.apply, plan.records))
            changes.add(self._carried_out(session, plan, arguments))
        except KubeError as error:
            return _joined(recorded.result(), changes.failed(error))
        shown = self._task.diff
        return _joined(recorded.result(diff=shown), changes.result(diff=shown))

    def _carried_out(self, session: Session, plan: Plan, arguments: Json) -> Iterator[Outcome]:
        """Change one object after the other."""
        pruned = plain(plan.prune)
        candidates = [found for chosen in selections(pruned) for found in chosen.list(session)]
        writer = Writer(
            session,
            listed={identity(found): found for found in candidates},
            dry_run=self.dry_run,
            owner=arguments["resource"],
            identified_by=arguments["identified_by"],
        )
        for manifest in plan.objects:
            once = named(manifest) in plan.create_only
            yield writer.create_once(manifest) if once else writer.apply(manifest)
        for patch in plan.patches:
            yield writer.patch(patch)
        if candidates:
            yield from prune(writer, candidates, plan.objects, users(pruned))


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
