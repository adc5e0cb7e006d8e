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
from ..module_utils.compute.observing import observe
from ..module_utils.compute.pass_input import PassInput
from ..module_utils.compute.pass_result import PassResult
from ..module_utils.compute.reconciler import run_pass
from ..module_utils.passes import status_writer
from ..module_utils.reporting.health import Health
from ..module_utils.workload.plans import is_paused
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
            pass_input = _pass_input(session, arguments)
        except RenderingError:
            # What is wrong with the spec is reported by the plan.
            return {"changed": False, "stores": {}}
        result, changed = self._passes(session, pass_input, arguments)
        answer: Json = {"changed": changed, "stores": result.stores().as_result()}
        warnings = [] if arguments["write_status"] else _given_up(arguments["resource"], result)
        if arguments["await_registered"] and result.unsettled:
            warnings.append(_unregistered(arguments["resource"], result))
        return {**answer, "warnings": warnings} if warnings else answer

    def _passes(
        self, session: Session, pass_input: PassInput, arguments: Json
    ) -> tuple[PassResult, bool]:
        """Run a pass, and more while there is something to wait for.

        Returns:
            How the last one ended, and whether any changed anything.
        """
        result = run_pass(session, pass_input, arguments["timeout"])
        changed, shown = result.changed, ""
        subject = arguments["resource"] if arguments["write_status"] else None
        status = status_writer.StatusWriter(session, subject)
        drained_by = float(pass_input.policy.patience)
        started = time.monotonic()
        while True:
            stores = result.stores()
            waiting = cn_status.draining(stores) if arguments["await_drains"] else ""
            limit = drained_by
            if not waiting and arguments["await_registered"] and result.reached:
                waiting, limit = _registering(result), _REGISTERED_BY
            if not waiting or time.monotonic() - started > limit:
                status.emit(partial(cn_status.drain_events, stores=stores, ending={}))
                return result, changed
            if waiting != shown:
                self.say(f"{describe(arguments['resource'])}: {waiting}")
                shown = waiting
            status.write(partial(cn_status.terminating_status, pods=pass_input.pods, stores=stores))
            time.sleep(_PAUSE)
            pass_input = _pass_input(session, arguments)
            result = run_pass(session, pass_input, arguments["timeout"])
            changed = changed or result.changed


def _pass_input(session: Session, arguments: Json) -> PassInput:
    found = observe(session, *(arguments[name] for name in ("resource", "log_set", "workload")))
    health = Health.read(arguments["health"])
    return replace(
        found,
        degraded=found.degraded or bool(health.silent),
        unresponsive=frozenset(health.unresponsive),
    )


def _given_up(resource: Json, result: PassResult) -> list[str]:
    """Warn of drains that were given up: what was left is cut."""
    return [
        f"{describe(resource)}: {pod} {drain.message}"
        for pod, drain in sorted(result.drains.items())
        if drain.step is Step.GIVEN_UP
    ]


def _registering(result: PassResult) -> str:
    """Name the Pods that are not yet what they should be in HAKeeper; empty if all are."""
    return f"waiting for {', '.join(result.unsettled)} in HAKeeper" if result.unsettled else ""


def _unregistered(resource: Json, result: PassResult) -> str:
    """Warn of what could not be set in HAKeeper; compute nodes serve all the same."""
    why = result.problem or "it does not know them yet"
    if not result.reached:
        why = f"it cannot be reached from here ({result.problem or 'no address of it is known'})"
    listed = ", ".join(result.unsettled)
    return f"{describe(resource)}: HAKeeper does not have the state of {listed}: {why}"
