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
from ..module_utils.compute import status as rounds
from ..module_utils.kinds import kind_of
from ..module_utils.reporting.conditions import find, holds
from ..module_utils.reporting.reasons import ConditionType
from ..module_utils.reporting.report import Report
from ..module_utils.reporting.rollout import is_held, is_on_purpose
from ..module_utils.workload.plans import Plan
from ..plugin_utils import cn_looking
from ..plugin_utils.kube_action import KubeAction
from ..plugin_utils.observing import fetch
from ..plugin_utils.rolling import take_step

_FIRST_PAUSE = 0.25  # seconds
_LONGEST_PAUSE = 2.0  # seconds
_ROUND_SECONDS = 10.0


class ActionModule(KubeAction):
    """Wait until a set serves what its resource asks for; show what is awaited."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "plan": {"type": "dict", "required": True},
        "log_set": {"type": "dict"},
        "timeout": {"type": "int", "default": 600},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Look again and again, with growing pauses, until it is ready or the time is over."""
        resource, timeout = arguments["resource"], arguments["timeout"]
        plan = kind_of(resource).plan_type.read(arguments["plan"])
        title = describe(resource)
        started = time.monotonic()
        pause, said, held, changed = _FIRST_PAUSE, "", "", False
        while not self.dry_run:
            seen = _seen(session, resource)
            report = _report(resource, plan, seen)
            held = _held(plan, report, seen)
            if report.ready or held:
                break
            helped, problem = _help(session, arguments, plan, seen)
            changed = changed or helped
            message = "; ".join(filter(None, (report.message, problem)))
            if message != said:
                said = message
                self.say(f"{title}: {said}")
            if time.monotonic() - started + pause > timeout:
                raise WaitExpired(_expired(resource, plan, timeout, said))
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        if held:
            self.say(f"{title}: {held}")
        seconds = round(time.monotonic() - started, 1)
        return {"changed": changed, "seconds": seconds, "held": held}


def _seen(session: Session, resource: dict[str, Any]) -> dict[str, Any]:
    return {
        label: fetch(session, label, reference)
        for label, reference in kind_of(resource).references(resource).items()
    }


def _report(resource: dict[str, Any], plan: Plan, seen: dict[str, Any]) -> Report:
    return kind_of(resource).report(resource, plan, seen, {}, "")


def _held(plan: Plan, report: Report, seen: dict[str, Any]) -> str:
    """Say what goes no further on purpose, once all else is done; empty if nothing is held."""
    subject = {"status": report.status}
    if is_held(subject):
        return str(find(subject, ConditionType.SYNCED)["message"])
    done = holds(subject, ConditionType.READY) or seen["workload"] is None
    return plan.waiting_for if done and is_on_purpose(plan.waiting_for) else ""


def _help(
    session: Session, arguments: dict[str, Any], plan: Plan, seen: dict[str, Any]
) -> tuple[bool, str]:
    """Do what an operator does meanwhile.

    Returns:
        Whether it changed anything, and what keeps it from more.
    """
    resource = arguments["resource"]
    if plan.workload.startswith("StatefulSet/") and not plan.paused:
        return bool(take_step(session, resource, dry_run=False).replaced), ""
    if resource["kind"] != names.CN_SET or not any(map(cn_pods.is_gated, seen["pods"])):
        return False, ""
    situation = cn_looking.situation_of(session, resource, arguments["log_set"], None)
    outcome = cn_looking.look(session, situation, _ROUND_SECONDS)
    return outcome.changed, rounds.unreachable(cn_looking.shown(outcome))


def _expired(resource: dict[str, Any], plan: Plan, timeout: int, said: str) -> str:
    namespace = resource["metadata"]["namespace"]
    look = f"kubectl -n {namespace} describe {plan.workload.lower()}"
    return f"{describe(resource)} is not ready after {timeout} s: {said}; look further with: {look}"
