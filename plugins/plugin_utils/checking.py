# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell whether a whole pass over a resource would change nothing, by deciding as the pass does.

Everything that a pass decides is decided here from what is seen now: plan, growth, roll, what is
left over, status, events. Only when each of them comes to nothing there is nothing to do; when
one is in doubt there is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..module_utils.api import names
from ..module_utils.api.timestamps import timestamp_now
from ..module_utils.clients.kubernetes.applying import Identity, Writer, identity
from ..module_utils.clients.kubernetes.selecting import Selection, prune
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.compute.pods import (
    came_up_lately,
    live_pods,
    policy_of,
    told_states,
    unheard_of,
)
from ..module_utils.kinds import SETS, kind_of
from ..module_utils.logservice.health import Question, question
from ..module_utils.reporting.conditions import holds_now, with_times
from ..module_utils.reporting.reasons import ConditionType
from ..module_utils.reporting.rollout import partition_of
from ..module_utils.workload.plans import Plan, Prune, is_paused, named
from ..module_utils.workload.roll import is_rolling
from .compute.situation import Situation
from .kubernetes.observing import fetch_raw, shown

Json = Mapping[str, Any]
_ACTING = ("paused", "invalid", "waiting_for", "held", "records", "patches", "rotation")
"""What is in a plan only while there is something to do, or to wait for."""


class Check:
    """One check of a resource and all that belongs to it."""

    def __init__(self, session: Session, resource: Json, start_script: str) -> None:
        self._session = session
        self._resource = dict(resource)
        self._kind = kind_of(self._resource)
        self._start_script = start_script
        self._live: dict[Identity, Json] = {}

    def is_up_to_date(self) -> bool:
        """Tell whether a pass would change nothing and wait for nothing."""
        if not _may_be_settled(self._resource):
            return False
        observed = self._observe()
        plan: Plan = self._kind.plan(self._resource, observed, self._start_script)
        if any(getattr(plan, key, None) for key in _ACTING) or _acts(self._resource, observed):
            return False
        writer = Writer(self._session, dry_run=True, owner=self._resource, listed=self._live)
        candidates = self._candidates(plan.prune)
        self._live.update((identity(found), found) for found in candidates)
        if not _all_in_place(writer, plan) or _leftovers(writer, plan, candidates):
            return False
        return self._is_told(plan, observed)

    def _observe(self) -> dict[str, Any]:
        """Fetch what the pass would fetch; the resource itself is at hand."""
        observed: dict[str, Any] = {"self": self._resource}
        for label, reference in self._kind.references(self._resource).items():
            if label == "self":
                continue
            found = fetch_raw(self._session, label, reference)
            for one in found if isinstance(found, list) else [found] if found else []:
                self._live[identity(one)] = one
            observed[label] = shown(found, reference)
        return observed

    def _candidates(self, chosen: Prune | None) -> list[dict[str, Any]]:
        if chosen is None:
            return []
        place, labels, owner = chosen.namespace, chosen.labels, chosen.owner_uid
        return [
            found
            for kind in chosen.kinds
            for found in Selection(
                kind["api_version"], kind["kind"], place, labels, owner_uid=owner
            ).list(self._session)
        ]

    def _is_told(self, plan: Plan, observed: Json) -> bool:
        """Tell whether the status says already what a pass would say."""
        live = {
            named(manifest): shown(self._live[identity(manifest)], {}) for manifest in plan.objects
        }
        report = self._kind.report(self._resource, plan, observed, {"objects": live}, "")
        before = self._resource["status"]
        quiet = report.ready and not report.requeue and not report.events
        return bool(quiet and with_times(report.status, before, timestamp_now()) == before)


def _may_be_settled(resource: Json) -> bool:
    """Tell whether it is worth a look: the last pass found everything in order."""
    metadata, status = resource["metadata"], resource.get("status") or {}
    told = (ConditionType.READY, ConditionType.SYNCED)
    return (
        status.get("observedGeneration") == metadata.get("generation")
        and not metadata.get("deletionTimestamp")
        and not is_paused(resource)
        and all(holds_now(resource, condition) for condition in told)
    )


def _acts(resource: Json, observed: Json) -> bool:
    """Tell whether Pods or volumes have to be seen to, or HAKeeper has to be asked."""
    if resource["kind"] == names.CLUSTER:
        return False
    workload, pods = observed.get("workload"), observed.get("pods") or []
    if workload is None or any(pod["metadata"].get("deletionTimestamp") for pod in pods):
        return True
    if _asks(resource, workload, pods):
        return True
    grown = SETS[resource["kind"]].growth(resource, observed)
    rolls = is_rolling(workload, pods, partition_of(resource))
    return bool(grown.claims or grown.templates) or rolls


def _asks(resource: Json, workload: Json, pods: list[dict[str, Any]]) -> bool:
    """Tell whether HAKeeper has to be asked or told something."""
    now = time.time()
    if resource["kind"] == names.LOG_SET:
        return question(dict(resource), workload, pods, now) is not Question.NONE
    if resource["kind"] != names.CN_SET:
        return False
    wanted, present = resource["spec"].get("replicas"), workload["spec"].get("replicas")
    living = live_pods(pods)
    if set(came_up_lately(living, now)) & set(unheard_of(living, told_states(resource))):
        return True
    return Situation(policy_of(resource), wanted, present, living, (), (), now).is_managed


def _all_in_place(writer: Writer, plan: Plan) -> bool:
    once = set(plan.create_only)
    for manifest in plan.objects:
        live = writer.listed.get(identity(manifest))
        if live is None or live["metadata"].get("deletionTimestamp"):
            return False
        if named(manifest) not in once and not writer.is_in_place(manifest, live):
            return False
    return True


def _leftovers(writer: Writer, plan: Plan, candidates: list[dict[str, Any]]) -> bool:
    chosen = plan.prune
    if chosen is None:
        return False
    users = [
        Selection(kind["api_version"], kind["kind"], chosen.namespace, chosen.labels)
        for kind in chosen.unless_used_by
    ]
    return bool(prune(writer, candidates, plan.objects, users))
