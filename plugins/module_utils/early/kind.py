# SPDX-License-Identifier: Apache-2.0
"""What is asked of a MatrixoneCluster of the first operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Final

from ..admission.sets import set_mistakes, version_warnings
from ..admission.shapes import Mistake, look_for
from ..api.types import Resource
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassStart, Planner, Reporter
from ..workload.removal import Removal
from .observed import EarlyObserved
from .planning import EarlyPlan, plan_early
from .references import early_references
from .removal import removal_of_early
from .reports import report_on_early


def _references(start: PassStart) -> dict[str, Reference]:
    return early_references(start.resource)


def _plan(start: PassStart) -> EarlyPlan:
    return plan_early(
        start.resource, EarlyObserved.read(start.observed), datetime.now(timezone.utc)
    )


def _removal(start: PassStart) -> list[Removal]:
    return removal_of_early(start.resource, EarlyObserved.read(start.observed))


def _mistakes(resource: Resource) -> list[Mistake]:
    spec = resource.get("spec")
    return look_for(set_mistakes("spec", spec)) if isinstance(spec, Mapping) else []


def _warnings(resource: Resource) -> Iterable[str]:
    spec = resource.get("spec")
    return version_warnings(spec) if isinstance(spec, Mapping) else ()


EARLY: Final = Kind(
    plan_type=EarlyPlan,
    planner=Planner(references=_references, plan=_plan, removal=_removal),
    reporter=Reporter(report=report_on_early),
    judge=Judge(mistakes=_mistakes, warnings=_warnings),
)
"""A database in one Pod."""
