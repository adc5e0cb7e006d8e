# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.cn_stores); see plugins/modules/cn_stores.py."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from ..module_utils.api.errors import RenderingError
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.compute import status as cn_status
from ..module_utils.compute.drain import (
    Step,
)
from ..module_utils.passes import status_writer
from ..module_utils.reporting.health import Health
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.compute import situation as situations
from ..plugin_utils.compute.outcome import Outcome
from ..plugin_utils.compute.situation import Situation
from ..plugin_utils.compute.store_pass import run_pass
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]
_REGISTERED_BY = 30.0  # seconds
_PAUSE = 2.0  # seconds


class ActionModule(KubeAction):
    """Bring the compute nodes of a CNSet to what it asks for in HAKeeper."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "log_set": {"type": "dict"},
        "workload": {"type": "dict"},
        "timeout": {"type": "float", "default": 10.0},
        "health": {"type": "dict", "default": {}},
        "await_drains": {"type": "bool", "default": False},
        "await_registered": {"type": "bool", "default": False},
        "write_status": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Run one pass over all compute nodes of the set, or passes until all drains ended."""
        if self.dry_run or is_paused(arguments["resource"]):
            return {"changed": False, "stores": {}}
        try:
            situation = _situation(session, arguments)
        except RenderingError:
            # What is wrong with the spec is reported by the plan.
            return {"changed": False, "stores": {}}
        outcome, changed = self._passes(session, situation, arguments)
        result: Json = {"changed": changed, "stores": outcome.as_result()}
        warnings = [] if arguments["write_status"] else _given_up(arguments["resource"], outcome)
        if arguments["await_registered"] and outcome.unsettled:
            warnings.append(_unregistered(arguments["resource"], outcome))
        return {**result, "warnings": warnings} if warnings else result

    def _passes(
        self, session: Session, situation: Situation, arguments: Json
    ) -> tuple[Outcome, bool]:
        """Run a pass, and more while there is something to wait for.

        Returns:
            How the last one ended, and whether any changed anything.
        """
        outcome = run_pass(session, situation, arguments["timeout"])
        changed, shown = outcome.changed, ""
        subject = arguments["resource"] if arguments["write_status"] else None
        status = status_writer.StatusWriter(session, subject)
        drained_by = float(situation.policy.patience)
        started = time.monotonic()
        while True:
            result = outcome.as_result()
            waiting = cn_status.draining(result) if arguments["await_drains"] else ""
            limit = drained_by
            if not waiting and arguments["await_registered"] and outcome.reached:
                waiting, limit = _registering(outcome), _REGISTERED_BY
            if not waiting or time.monotonic() - started > limit:
                status.emit(partial(cn_status.drain_events, stores=result, ending={}))
                return outcome, changed
            if waiting != shown:
                self.say(f"{describe(arguments['resource'])}: {waiting}")
                shown = waiting
            status.write(partial(cn_status.terminating_status, pods=situation.pods, stores=result))
            time.sleep(_PAUSE)
            situation = _situation(session, arguments)
            outcome = run_pass(session, situation, arguments["timeout"])
            changed = changed or outcome.changed


def _situation(session: Session, arguments: Json) -> Situation:
    found = situations.observe(
        session, *(arguments[name] for name in ("resource", "log_set", "workload"))
    )
    health = Health.read(arguments["health"])
    return replace(
        found,
        degraded=found.degraded or bool(health.silent),
        mute=frozenset(health.mute),
    )


def _given_up(resource: Json, outcome: Outcome) -> list[str]:
    """Warn of drains that were given up: what was left is cut."""
    return [
        f"{describe(resource)}: {pod} {drain.message}"
        for pod, drain in sorted(outcome.drains.items())
        if drain.step is Step.GIVEN_UP
    ]


def _registering(outcome: Outcome) -> str:
    """Name the Pods that are not yet what they should be in HAKeeper; empty if all are."""
    return f"waiting for {', '.join(outcome.unsettled)} in HAKeeper" if outcome.unsettled else ""


def _unregistered(resource: Json, outcome: Outcome) -> str:
    """Warn of what could not be set in HAKeeper; compute nodes serve all the same."""
    why = outcome.problem or "it does not know them yet"
    if not outcome.reached:
        why = f"it cannot be reached from here ({outcome.problem or 'no address of it is known'})"
    listed = ", ".join(outcome.unsettled)
    return f"{describe(resource)}: HAKeeper does not have the state of {listed}: {why}"
