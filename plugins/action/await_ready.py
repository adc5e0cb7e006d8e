# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.await_ready); documented in plugins/modules."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.errors import WaitExpired
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.compute import pods as cn_pods
from ..module_utils.compute import status as cn_status
from ..module_utils.compute.observing import observe as observe_compute_nodes
from ..module_utils.compute.reconciler import run_pass
from ..module_utils.kinds import kind_of
from ..module_utils.logservice.replaceable_stores import next_log_stores
from ..module_utils.passes.pod_diagnosis import observe
from ..module_utils.reporting.conditions import find, holds
from ..module_utils.reporting.reasons import ConditionType
from ..module_utils.reporting.report import Report
from ..module_utils.reporting.roll import roll_message
from ..module_utils.reporting.rollout import is_held, is_on_purpose
from ..module_utils.workload.kind import PassEnd
from ..module_utils.workload.observed import SetObserved
from ..module_utils.workload.plans import Plan
from ..module_utils.workload.reading import read_observed
from ..module_utils.workload.rolling_update import take_step
from ..plugin_utils.kubernetes.action import KubeAction

_FIRST_PAUSE = 0.25  # seconds
_LONGEST_PAUSE = 2.0  # seconds
_PASS_SECONDS = 10.0


class ActionModule(KubeAction):
    """Wait until a set serves what its resource asks for; show what it waits for."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "plan": {"type": "dict", "required": True},
        "log_set": {"type": "dict"},
        "timeout": {"type": "int", "default": 600},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Observe repeatedly, with growing pauses, until it is ready or the time is over."""
        resource, timeout = arguments["resource"], arguments["timeout"]
        kind = kind_of(resource)
        plan = kind.plan_type.read(arguments["plan"])
        title = describe(resource)
        started = time.monotonic()
        pause, shown, held, changed = _FIRST_PAUSE, "", "", False
        while not self.dry_run:
            found = observe(session, kind.references(resource))
            report = kind.reporter.report(PassEnd(resource, plan, found))
            observed = read_observed(found)
            held = _held(plan, report, observed)
            if report.ready or held:
                break
            helped, problem = _help(session, arguments, plan, observed)
            changed = changed or helped
            message = "; ".join(filter(None, (report.message, problem)))
            if message != shown:
                shown = message
                self.say(f"{title}: {shown}")
            if time.monotonic() - started + pause > timeout:
                raise WaitExpired(_expired(resource, plan, timeout, shown))
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        if held:
            self.say(f"{title}: {held}")
        seconds = round(time.monotonic() - started, 1)
        return {"changed": changed, "seconds": seconds, "held": held}


def _held(plan: Plan, report: Report, observed: SetObserved) -> str:
    """Return what is held back on purpose, once all else is done; empty if nothing is."""
    subject = {"status": report.status}
    if is_held(subject):
        return str(find(subject, ConditionType.SYNCED)["message"])
    done = holds(subject, ConditionType.READY) or observed.workload is None
    return plan.waiting_for if done and is_on_purpose(plan.waiting_for) else ""


def _help(
    session: Session, arguments: dict[str, Any], plan: Plan, observed: SetObserved
) -> tuple[bool, str]:
    """Do what an operator does meanwhile.

    Returns:
        Whether it changed anything, and what keeps it from more.
    """
    resource = arguments["resource"]
    if plan.workload.startswith("StatefulSet/") and not plan.paused:
        choices = {names.LOG_SET: next_log_stores}
        step = take_step(session, resource, choices, dry_run=False)
        return bool(step.replaced), step.fault and f"{roll_message(step)}: {step.fault}"
    if resource["kind"] != names.CN_SET or not any(map(cn_pods.is_gated, observed.pods)):
        return False, ""
    pass_input = observe_compute_nodes(session, resource, arguments["log_set"], None)
    result = run_pass(session, pass_input, _PASS_SECONDS)
    return result.changed, cn_status.unreachable(result.stores())


def _expired(resource: dict[str, Any], plan: Plan, timeout: int, shown: str) -> str:
    namespace = resource["metadata"]["namespace"]
    command = f"kubectl -n {namespace} describe {plan.workload.lower()}"
    return f"{describe(resource)} is not ready after {timeout} s: {shown}; see: {command}"
