# SPDX-License-Identifier: Apache-2.0
"""What is asked of a DatabaseUser."""

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
from .spec import UserSpec, user_mistakes, user_of, user_warnings
from .status import report_on_user

_USER: Final = Subject(
    kind=names.DATABASE_USER, noun="user", read=UserSpec.of, name_of=user_of, known="lastChecked"
)


def _references(start: PassStart) -> dict[str, Reference]:
    return references(start.resource)


def _plan(start: PassStart) -> ObjectPlan:
    return plan_object(_USER, start.resource, ObjectObserved.read(start.observed))


def _report(end: PassEnd[ObjectPlan]) -> Report:
    return report_on_user(end, timestamp_now())


def _mistakes(resource: Resource) -> list[Mistake]:
    return look_for(user_mistakes(resource))


DATABASE_USER: Final = Kind(
    plan_type=ObjectPlan,
    planner=Planner(references=_references, plan=_plan),
    reporter=Reporter(report=_report),
    judge=Judge(mistakes=_mistakes, warnings=user_warnings),
)
"""An SQL user of a cluster. It is in the database, so that nothing in Kubernetes belongs to it but
the Secret that is created for it."""
