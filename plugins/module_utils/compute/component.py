# SPDX-License-Identifier: Apache-2.0
"""What is particular to a CNSet."""

from __future__ import annotations

from typing import Final

from ..admission.storage import disk_cache_warnings
from ..api import names
from ..api.types import Manifest
from ..reporting.events import Occurrence
from ..workload.component import Component, SetJudge, SetPass, SetRenderer, SetReporter, SetStart
from . import status
from .admission import mistakes_of_cnset
from .bootstrap import hold
from .rendering import render_cnset
from .stores_result import CNStoresResult


def _render(start: SetStart) -> list[Manifest]:
    return render_cnset(start.resource, start_script=start.script, references=start.dependencies)


def _events(seen: SetPass) -> list[Occurrence]:
    if seen.plan.paused:
        return []
    ending = status.ending(seen.resource, seen.pods, seen.now)
    stores = CNStoresResult.of(seen.observed.stores)
    return [*status.drain_events(seen.resource, stores, ending), *status.resume_events(stores)]


def _requeue(seen: SetPass, otherwise: str) -> str:
    if seen.plan.paused:
        return otherwise
    return status.requeue(CNStoresResult.of(seen.observed.stores), otherwise)


COMPUTE_NODES: Final = Component(
    kind=names.CN_SET,
    client_port=names.PORT_SQL,
    stores=CNStoresResult,
    renderer=SetRenderer(render=_render, hold=hold),
    judge=SetJudge(mistakes=mistakes_of_cnset, warnings=[disk_cache_warnings]),
    reporter=SetReporter(
        findings=status.findings, status=status.status_fields, events=_events, requeue=_requeue
    ),
)
