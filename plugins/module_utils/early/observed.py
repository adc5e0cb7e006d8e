# SPDX-License-Identifier: Apache-2.0
"""What a pass over a MatrixoneCluster observed, and what its step before did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api.types import Manifest
from ..reporting.applied import Change, changes_in
from ..reporting.pod_problems import PodProblems
from ..workload.plans import Observed
from ..workload.references import POD_PROBLEMS


@dataclass(frozen=True, slots=True)
class GrownClaims:
    """What the step that grows claims did; the default is that there was nothing to do.

    Attributes:
        done: what happened to the claims.
        failure: why a claim could not grow; empty if none was refused.
    """

    done: Sequence[Change] = ()
    failure: str = ""

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> GrownClaims:
        """Return it from a task's result; empty when the task did not run."""
        return cls(done=changes_in(result), failure=str(result.get("msg") or ""))


@dataclass(frozen=True, slots=True)
class EarlyObserved:
    """What is known of a MatrixoneCluster when a pass decides or reports.

    Attributes:
        complete: the references were observed; not so where that has failed.
        workload: its StatefulSet; None if there is none.
        pods: its Pods.
        pod_problems: what keeps Pods from existing or from starting.
        claims: the claims that carry its labels, which need not be its own.
        services: the Services that carry its labels.
        stateful_sets: the StatefulSets that carry its labels.
        growth: what the step that grows claims did.
    """

    complete: bool = False
    workload: Manifest | None = None
    pods: Sequence[Manifest] = ()
    pod_problems: PodProblems = field(default_factory=PodProblems)
    claims: Sequence[Manifest] = ()
    services: Sequence[Manifest] = ()
    stateful_sets: Sequence[Manifest] = ()
    growth: GrownClaims = field(default_factory=GrownClaims)

    @classmethod
    def read(cls, observed: Observed) -> EarlyObserved:
        """Read what ``observe`` returned by the labels of `early_references`, and ``growth``."""
        return cls(
            complete="workload" in observed,
            workload=observed.get("workload"),
            pods=observed.get("pods") or (),
            pod_problems=PodProblems.read(observed.get(POD_PROBLEMS)),
            claims=observed.get("claims") or (),
            services=observed.get("services") or (),
            stateful_sets=observed.get("statefulSets") or (),
            growth=GrownClaims.read(observed.get("growth") or {}),
        )
