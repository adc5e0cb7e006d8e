# SPDX-License-Identifier: Apache-2.0
"""What a pass observed of a task, whatever kind of resource it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...api.timestamps import timestamp_now
from ...api.types import Manifest
from ...reporting.pod_problems import NO_PROBLEMS, PodProblems
from ...workload.plans import Observed
from ...workload.references import POD_PROBLEMS


@dataclass(frozen=True, slots=True)
class TaskObserved:
    """The objects of a task; those that `task_references` names.

    Attributes:
        job: the Job; None if there is none.
        order: the ConfigMap with the task, with its data.
        result: the ConfigMap with what the program has reported, with its data.
        pods: of the Job, and of earlier ones of its name.
        problems: what keeps Pods of the Job from existing or from starting.
    """

    job: Manifest | None = None
    order: Manifest | None = None
    result: Manifest | None = None
    pods: Sequence[Manifest] = ()
    problems: PodProblems = NO_PROBLEMS

    @classmethod
    def read(cls, observed: Observed) -> TaskObserved:
        """Read what ``observe`` returned by the labels of `task_references`."""
        return cls(
            job=observed.get("job"),
            order=observed.get("task"),
            result=observed.get("result"),
            pods=observed.get("pods") or (),
            problems=PodProblems.read(observed.get(POD_PROBLEMS)),
        )


def existing(observed: Observed) -> frozenset[str]:
    """Return the labels of the references that led to something, Secrets for example."""
    return frozenset(label for label, found in observed.items() if found is not None)


def moment_of(observed: Observed) -> str:
    """Return the time of a pass, RFC 3339: the clock's, where it was not given one as ``now``."""
    return str(observed.get("now") or timestamp_now())
