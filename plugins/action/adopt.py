# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.adopt); documented in plugins/modules/adopt.py."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from ..module_utils.adoption.executing import Executor
from ..module_utils.adoption.observing import observe
from ..module_utils.adoption.planning import plan_adoption
from ..module_utils.adoption.returning import plan_return
from ..module_utils.adoption.steps import AdoptionPlan, Step
from ..module_utils.clients.kubernetes.session import Session
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]

_BEGINNING = "beginning"
_SETTLED_SECONDS = 180.0
"""What the other sets have to be ready again after a part of the database was replaced."""
_PAUSE = 3.0  # seconds


class ActionModule(KubeAction):
    """Plan the adoption of a cluster, or carry out what the plan has for one of its parts."""

    SPEC: ClassVar[Json] = {
        "cluster": {"type": "str", "required": True},
        "namespace": {"type": "str", "default": "default"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "part": {"type": "str"},
        "timeout": {"type": "int", "default": 900},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Plan by what is there now; with a part, carry its steps out unless in check mode."""
        part = arguments["part"]
        plan = _plan(session, arguments) if part is None else self._settled(session, arguments)
        if part is None or plan.refusals:
            failing = {"failed": True, "msg": _refused(plan)} if part and plan.refusals else {}
            return {"changed": False, "plan": _document(plan), "done": [], **failing}
        steps = [step for step in plan.steps if _part_of(step) == part]
        if not self.dry_run:
            self._carry_out(session, arguments, steps)
        done = [step.title for step in steps]
        return {"changed": any(map(_changes, steps)), "plan": _document(plan), "done": done}

    def _settled(self, session: Session, arguments: Json) -> AdoptionPlan:
        """Plan again, with patience for sets that feel what was just done to another one."""
        deadline = time.monotonic() + _SETTLED_SECONDS
        shown = ""
        while True:
            plan = _plan(session, arguments)
            over = time.monotonic() > deadline or arguments["part"] == _BEGINNING
            if not plan.refusals or over or self.dry_run:
                return plan
            if plan.refusals[0] != shown:
                shown = plan.refusals[0]
                self.say(f"waiting: {shown}")
            time.sleep(_PAUSE)

    def _carry_out(self, session: Session, arguments: Json, steps: Sequence[Step]) -> None:
        namespace, cluster = arguments["namespace"], arguments["cluster"]
        executor = Executor(session, namespace, cluster, arguments["timeout"], self.say)
        for step in steps:
            self.say(step.title)
            executor.run(step)


def _plan(session: Session, arguments: Json) -> AdoptionPlan:
    planner = plan_adoption if arguments["state"] == "present" else plan_return
    return planner(observe(session, arguments["namespace"], arguments["cluster"]))


def _part_of(step: Step) -> str:
    return _BEGINNING if step.action.is_beginning else step.part


def _changes(step: Step) -> bool:
    return not step.action.is_wait


def _refused(plan: AdoptionPlan) -> str:
    return "; ".join(plan.refusals)


def _document(plan: AdoptionPlan) -> Json:
    """Return a plan as tasks take it; parts are in the order in which they are carried out."""
    return {
        "refusals": list(plan.refusals),
        "steps": [step.document for step in plan.steps],
        "notes": list(plan.notes),
        "parts": list(dict.fromkeys(_part_of(step) for step in plan.steps)),
    }
