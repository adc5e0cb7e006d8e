# SPDX-License-Identifier: Apache-2.0
"""What is asked of a Database."""

from __future__ import annotations

from typing import Final

from ..admission.shapes import Mistake, look_for
from ..api import names
from ..api.timestamps import timestamp_now
from ..api.types import Resource
from ..database_objects.observed import ObjectObserved, references
from ..database_objects.planning import ObjectPlan, Subject, plan_object
from ..reporting.report import Report
from ..workload.component import Reference
from ..workload.kind import Judge, Kind, PassEnd, PassStart, Planner, Reporter
from .spec import DatabaseSpec, database_mistakes, database_of, deletion_warnings
from .status import report_on_database

_DATABASE: Final = Subject(
    kind=names.DATABASE,
    noun="database",
    read=DatabaseSpec.of,
    name_of=database_of,
    known="id",
)


def _references(start: PassStart) -> dict[str, Reference]:
    return references(start.resource)


def _plan(start: PassStart) -> ObjectPlan:
    return plan_object(_DATABASE, start.resource, ObjectObserved.read(start.observed))


def _report(end: PassEnd[ObjectPlan]) -> Report:
    return report_on_database(end, timestamp_now())


def _mistakes(resource: Resource) -> list[Mistake]:
    return look_for(database_mistakes(resource))


DATABASE: Final = Kind(
    plan_type=ObjectPlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report),
    judge=Judge(mistakes=_mistakes, deletion_warnings=deletion_warnings),
)
"""A database of a cluster. Nothing in Kubernetes belongs to it."""
