# SPDX-License-Identifier: Apache-2.0
"""What a pass decides and reports, as the roles see it: plain values in variables of Ansible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.parts import PARTS
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.applied import (
    Applied,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.component import (
    SetStart,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.planning import (
    plan_set,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.reading import (
    read_observed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.reports import (
    report_on_set,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.set_kind import (
    growth_of_set,
)

Json = dict[str, Any]


def plan_of(
    resource: Any,
    observed: Any,
    script: str = "",
    references: Mapping[str, Any] | None = None,
    siblings: Any = (),
) -> Json:
    """Return what a pass decides.

    Args:
        resource: the resource.
        observed: what its references led to.
        script: text of its start script.
        references: what the ``deps`` of a set name, where a playbook plays it.
        siblings: resources that this playbook plays, to find it among.
    """
    kind = kinds.kind_of(resource)
    if references is None:
        plan = kind.plan(resource, observed, Play(script, siblings))
    else:
        part, invalid = PARTS[resource["kind"]], kind.judge.invalid(resource)
        seen = read_observed(observed, part.stores)
        start = SetStart(resource, seen, script, references)
        plan = plan_set(part, start, invalid)
    return plain(plan.variables())


def report_on(
    resource: Any, plan: Any, observed: Any, applied: Any, failure: str, now: str
) -> Json:
    """Return what a pass reports.

    Args:
        resource: with its status so far.
        plan: what was decided; what is left out is as in a plan that does nothing.
        observed: what was observed before.
        applied: what apply returned.
        failure: why the pass failed.
        now: the present, RFC 3339.
    """
    kind = kinds.kind_of(resource)
    decided = kind.plan_type.read(plan)
    end = PassEnd(resource, decided, observed, Applied.read(applied), failure)
    if resource["kind"] not in PARTS:
        return plain(kind.reporter.report(end))
    return plain(report_on_set(PARTS[resource["kind"]], end, now))


def references_of(resource: Any, siblings: Any = ()) -> Json:
    """Return what a pass observes."""
    return kinds.kind_of(resource).references(resource, Play(siblings=siblings))


def removal_of(resource: Any, observed: Any = None) -> list[Json]:
    """Return the steps that delete a resource."""
    return plain(kinds.kind_of(resource).removal(resource, observed or {}))


def growth_of(resource: Any, workload: Any, claims: Any) -> Json:
    """Return what is to be done about the volumes of a set."""
    seen = {"workload": workload, "claims": claims}
    return plain(growth_of_set(PARTS[resource["kind"]], resource, seen))
