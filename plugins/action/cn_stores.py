# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.cn_stores); see plugins/modules/cn_stores.py."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, ClassVar

from ..module_utils.clients.kube.applying import Writer
from ..module_utils.clients.kube.kinds import describe
from ..module_utils.clients.kube.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.planning import cn_pods, reports
from ..module_utils.planning.plans import is_paused
from ..module_utils.rendering import names
from ..module_utils.rendering.errors import RenderingError
from ..module_utils.status import rounds
from ..plugin_utils import log_members, telling
from ..plugin_utils.cn_round import Outcome, Round, Situation
from ..plugin_utils.kube_action import KubeAction
from ..plugin_utils.pod_writing import PodWriter

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
        result: Json = {"changed": changed, "stores": _shown(outcome)}
        if arguments["await_settled"] and outcome.unsettled:
            result["warnings"] = [_unsettled(arguments["resource"], outcome)]
        return result

    def _rounds(
        self, session: Session, situation: Situation, arguments: Json
    ) -> tuple[Outcome, bool]:
        """Make a round, and more while something is awaited; tell whether one changed anything."""
        outcome = self._round(session, situation, arguments)
        changed, said = outcome.changed, ""
        teller = telling.Teller(session, arguments["resource"] if arguments["tell"] else None)
        drained_by = float(situation.policy.patience)
        started = time.monotonic()
        while True:
            shown = _shown(outcome)
            awaited = rounds.draining(shown) if arguments["await_drains"] else ""
            limit = drained_by
            if not awaited and arguments["await_settled"] and outcome.reached:
                awaited, limit = _settling(outcome), _SETTLED_BY
            if not awaited or time.monotonic() - started > limit:
                teller.emit(partial(rounds.occurrences, round_=shown, ending={}))
                return outcome, changed
            if awaited != said:
                self.say(f"{describe(arguments['resource'])}: {awaited}")
                said = awaited
            teller.tell(partial(reports.draining, pods=situation.pods, round_=shown))
            time.sleep(_PAUSE)
            situation = _situation(session, arguments)
            outcome = self._round(session, situation, arguments)
            changed = changed or outcome.changed

    def _round(self, session: Session, situation: Situation, arguments: Json) -> Outcome:
        deadline = Deadline.after(arguments["timeout"])
        return Round(situation, PodWriter(Writer(session)), deadline).run()


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


def _situation(session: Session, arguments: Json) -> Situation:
    resource, log_set = arguments["resource"], arguments["log_set"]
    metadata = resource["metadata"]
    labels = names.selector_labels(names.CN_SET, metadata["name"], metadata["namespace"])
    others = log_members.members(session, log_set)
    spec = resource.get("spec") or {}
    return Situation(
        policy=cn_pods.policy_of(resource),
        wanted=spec.get("replicas"),
        present=((arguments["workload"] or {}).get("spec") or {}).get("replicas"),
        pods=cn_pods.live_pods(log_members.pods_of(session, metadata["namespace"], labels)),
        others=others,
        addresses=cn_pods.log_addresses(others) if log_set else log_members.external(resource),
        now=time.time(),
        chosen=[str(name) for name in spec.get("podsToDelete") or ()],
        told=cn_pods.told_states(resource),
    )


def _shown(outcome: Outcome) -> Json:
    return {
        "managed": outcome.managed,
        "reached": outcome.reached,
        "problem": outcome.problem,
        "states": outcome.states,
        "unsettled": outcome.unsettled,
        "replicas": outcome.replicas,
        "drains": {
            pod: {
                "step": drain.step.value,
                "message": drain.message,
                "until": drain.until,
                "finished": drain.finished,
            }
            for pod, drain in sorted(outcome.drains.items())
        },
    }
