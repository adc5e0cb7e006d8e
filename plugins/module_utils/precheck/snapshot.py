# SPDX-License-Identifier: Apache-2.0
"""A resource with all that belongs to it, and what a pass would do about it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..admission.pod_security import level_of
from ..api.plain import plain
from ..api.timestamps import timestamp_now
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.outcomes import Identity, identity
from ..clients.kubernetes.selecting import prune
from ..clients.kubernetes.session import Session
from ..kinds import kind_of
from ..passes.observing import fetch_raw, shown
from ..passes.own_namespace import own_namespace
from ..passes.selections import selections, users
from ..passes.status_writer import differs
from ..reporting.applied import Applied
from ..reporting.conditions import completed
from ..workload.kind import PassEnd, Play
from ..workload.plans import Plan, named

Json = Mapping[str, Any]


@dataclass
class Snapshot:
    """One observation of a resource and all that belongs to it.

    Attributes:
        session: connection to the API server.
        resource: the resource, with its status.
        start_script: text of its start script.
    """

    session: Session
    resource: dict[str, Any]
    start_script: str
    _live: dict[Identity, Json] = field(default_factory=dict)

    @cached_property
    def observed(self) -> dict[str, Any]:
        """What the pass would observe; the resource itself is at hand."""
        observed: dict[str, Any] = {"self": self.resource}
        for label, reference in kind_of(self.resource).references(self.resource).items():
            if label == "self" or "explains" in reference:
                continue
            found = fetch_raw(self.session, label, reference)
            for one in found if isinstance(found, list) else [found] if found else []:
                self._live[identity(one)] = one
            observed[label] = shown(found, reference)
        return observed

    @cached_property
    def plan(self) -> Any:
        """What the pass would decide: a plan of the resource's kind."""
        level, operator = level_of(os.environ), own_namespace(os.environ)
        play = Play(self.start_script, level=level, operator=operator)
        return kind_of(self.resource).plan(self.resource, self.observed, play)

    @property
    def workload(self) -> dict[str, Any] | None:
        """The live workload of a set."""
        found: dict[str, Any] | None = self.observed.get("workload")
        return found

    @property
    def pods(self) -> list[dict[str, Any]]:
        """The live Pods of a set."""
        return self.observed.get("pods") or []

    @cached_property
    def now(self) -> float:
        """The current time, Unix time."""
        return time.time()

    def applies(self) -> bool:
        """Tell whether anything would be created, changed or deleted."""
        plan: Plan = self.plan
        if plan.patches:
            return True
        candidates = self._candidates()
        self._live.update((identity(found), found) for found in candidates)
        writer = Writer(self.session, dry_run=True, owner=self.resource, listed=self._live)
        return not self._is_in_place(writer) or self._has_leftovers(writer, candidates)

    def reports(self) -> bool:
        """Tell whether the status would change, or an Event or another pass would follow."""
        live = {
            named(manifest): shown(self._live[identity(manifest)], {})
            for manifest in self.plan.objects
        }
        end = PassEnd(self.resource, self.plan, self.observed, Applied(objects=live))
        report = kind_of(self.resource).reporter.report(end)
        if not report.ready or report.requeue or report.events:
            return True
        before = self.resource["status"]
        return differs(before, completed(report.status, before, timestamp_now()))

    def _candidates(self) -> list[dict[str, Any]]:
        chosen = selections(plain(self.plan.prune))
        return [found for one in chosen for found in one.list(self.session)]

    def _is_in_place(self, writer: Writer) -> bool:
        once = set(self.plan.create_only)
        for manifest in self.plan.objects:
            live = writer.listed.get(identity(manifest))
            if live is None or live["metadata"].get("deletionTimestamp"):
                return False
            if named(manifest) not in once and not writer.is_in_place(manifest, live):
                return False
        return True

    def _has_leftovers(self, writer: Writer, candidates: list[dict[str, Any]]) -> bool:
        if not candidates:
            return False
        used_by = users(plain(self.plan.prune))
        return bool(prune(writer, candidates, self.plan.objects, used_by))
