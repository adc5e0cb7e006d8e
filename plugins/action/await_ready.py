# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.await_ready); documented in plugins/modules."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from ..module_utils.clients.kube.errors import WaitExpired
from ..module_utils.clients.kube.kinds import describe
from ..module_utils.clients.kube.session import Session
from ..module_utils.planning.early_reports import report_on_early
from ..module_utils.planning.plans import Plan
from ..module_utils.planning.references import references
from ..module_utils.planning.reports import Report, report_on
from ..module_utils.rendering import names
from ..module_utils.status.sets import is_held
from ..module_utils.timestamps import timestamp_now
from ..plugin_utils.kube_action import KubeAction
from ..plugin_utils.observing import fetch
from ..plugin_utils.rolling import take_step

_FIRST_PAUSE = 0.25  # seconds
_LONGEST_PAUSE = 2.0  # seconds


class ActionModule(KubeAction):
    """Wait until a set serves what its resource asks for; show what is awaited."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "plan": {"type": "dict", "required": True},
        "timeout": {"type": "int", "default": 600},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Look again and again, with growing pauses, until it is ready or the time is over."""
        resource, plan, timeout = (arguments[name] for name in ("resource", "plan", "timeout"))
        title = describe(resource)
        started = time.monotonic()
        pause, said = _FIRST_PAUSE, ""
        while not self.dry_run:
            report = _look(session, resource, plan)
            if report["ready"]:
                break
            if is_held({"status": report["status"]}):
                raise WaitExpired(f"{title}: {report['message']}; lower it and play again")
            if plan["workload"].startswith("StatefulSet/") and not plan["paused"]:
                take_step(session, resource, dry_run=False)
            if report["message"] != said:
                said = report["message"]
                self.say(f"{title}: {said}")
            if time.monotonic() - started + pause > timeout:
                raise WaitExpired(_expired(resource, plan, timeout, said))
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        return {"changed": False, "seconds": round(time.monotonic() - started, 1)}


def _look(session: Session, resource: dict[str, Any], plan: Plan) -> Report:
    observed = {
        label: fetch(session, label, reference) for label, reference in references(resource).items()
    }
    if resource["kind"] == names.EARLY:
        return report_on_early(resource, plan, observed, {}, "")
    return report_on(resource, plan, observed, {}, "", timestamp_now())


def _expired(resource: dict[str, Any], plan: Plan, timeout: int, said: str) -> str:
    namespace = resource["metadata"]["namespace"]
    look = f"kubectl -n {namespace} describe {plan['workload'].lower()}"
    return f"{describe(resource)} is not ready after {timeout} s: {said}; look further with: {look}"
