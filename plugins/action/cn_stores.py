# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.cn_stores); see plugins/modules/cn_stores.py."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, ClassVar

from ..module_utils.api.errors import RenderingError
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.compute import status as rounds
from ..module_utils.compute.drain import Step
from ..module_utils.workload.plans import is_paused
from ..plugin_utils import telling
from ..plugin_utils.cn_looking import look, shown, situation_of
from ..plugin_utils.cn_round import Outcome, Situation
from ..plugin_utils.kube_action import KubeAction

Json = dict[str, Any]
_SETTLED_BY = 30.0  # seconds
_PAUSE = 2.0  # seconds


class ActionModule(KubeAction):
    """Bring the compute nodes of a CNSet to what it asks for in HAKeeper."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "log_set": {"type": "dict"},
        "workload": {"type": "dict"},
        "timeout": {"type": "float", "default": 10.0},
        "await_drains": {"type": "bool", "default": False},
        "await_settled": {"type": "bool", "default": False},
        "tell": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Make one round over all compute nodes of the set, or rounds until all drains ended."""
        if self.dry_run or is_paused(arguments["resource"]):
            return {"changed": False, "stores": {}}
        try:
            situation = _situation(session, arguments)
        except RenderingError:
            # What is wrong with the spec is told by who renders it.
            return {"changed": False, "stores": {}}
        outcome, changed = self._rounds(session, situation, arguments)
        result: Json = {"changed": changed, "stores": shown(outcome)}
        warnings = [] if arguments["tell"] else _given_up(arguments["resource"], outcome)
        if arguments["await_settled"] and outcome.unsettled:
            warnings.append(_unsettled(arguments["resource"], outcome))
        return {**result, "warnings": warnings} if warnings else result

    def _rounds(
        self, session: Session, situation: Situation, arguments: Json
    ) -> tuple[Outcome, bool]:
        """Make a round, and more while something is awaited; tell whether one changed anything."""
        outcome = look(session, situation, arguments["timeout"])
        changed, said = outcome.changed, ""
        teller = telling.Teller(session, arguments["resource"] if arguments["tell"] else None)
        drained_by = float(situation.policy.patience)
        started = time.monotonic()
        while True:
            told = shown(outcome)
            awaited = rounds.draining(told) if arguments["await_drains"] else ""
            limit = drained_by
            if not awaited and arguments["await_settled"] and outcome.reached:
                awaited, limit = _settling(outcome), _SETTLED_BY
            if not awaited or time.monotonic() - started > limit:
                teller.emit(partial(rounds.drain_events, stores=told, ending={}))
                return outcome, changed
            if awaited != said:
                self.say(f"{describe(arguments['resource'])}: {awaited}")
                said = awaited
            teller.tell(partial(rounds.terminating_status, pods=situation.pods, stores=told))
            time.sleep(_PAUSE)
            situation = _situation(session, arguments)
            outcome = look(session, situation, arguments["timeout"])
            changed = changed or outcome.changed


def _situation(session: Session, arguments: Json) -> Situation:
    return situation_of(session, *(arguments[name] for name in ("resource", "log_set", "workload")))


def _given_up(resource: Json, outcome: Outcome) -> list[str]:
    """Warn of drains whose time was over: what was left is cut."""
    return [
        f"{describe(resource)}: {pod} {drain.message}"
        for pod, drain in sorted(outcome.drains.items())
        if drain.step is Step.GIVEN_UP
    ]


def _settling(outcome: Outcome) -> str:
    """Say which Pods are not yet what they should be in HAKeeper; empty if all are."""
    return f"waiting for {', '.join(outcome.unsettled)} in HAKeeper" if outcome.unsettled else ""


def _unsettled(resource: Json, outcome: Outcome) -> str:
    """Warn of what HAKeeper has not been told; compute nodes serve all the same."""
    why = outcome.problem or "it does not know them yet"
    if not outcome.reached:
        why = f"it cannot be reached from here ({outcome.problem or 'no address of it is known'})"
    listed = ", ".join(outcome.unsettled)
    return f"{describe(resource)}: HAKeeper was not told about {listed}: {why}"
