# SPDX-License-Identifier: Apache-2.0
"""A pass of a claim set: rounds of deciding and writing until there is nothing left to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..clients.kubernetes.session import Session
from .claim_sets import plan_claim_set
from .executing import Executor, WriteResults
from .objects import Objects
from .reading import claim_facts, claim_set_facts, pod_facts
from .writes import ClaimSetPlan

Json = dict[str, Any]

_MOST_ROUNDS: Final = 8
_LISTED: Final = 100
"""Claims whose statuses the set repeats."""


def run_claim_set(session: Session, claim_set: Mapping[str, Any]) -> Json:
    """Create and delete the claims of a set; return what the task's result has of it.

    Raises:
        KubeError: the API server refuses to list.
    """
    objects = Objects(session, claim_set["metadata"]["namespace"])
    objects.load(fresh=False)
    executor, written = Executor(objects, None, claim_set), WriteResults()
    plan = _plan(objects, claim_set)
    for _round in range(_MOST_ROUNDS):
        if not plan.writes and not (plan.wants_fresh and not objects.fresh):
            break
        done = executor.run(plan.writes)
        written.add(done)
        if done.problems:
            break
        if done.dropped or not plan.writes:
            objects.load(fresh=True)
        plan = _plan(objects, claim_set)
    return {
        "status": {**plan.status, "claims": list(plan.status["claims"])[:_LISTED]},
        "done": written.done,
        "errors": written.problems[:10],
        "unfinished": bool(plan.writes),
    }


def _plan(objects: Objects, claim_set: Mapping[str, Any]) -> ClaimSetPlan:
    return plan_claim_set(
        claim_set_facts(claim_set),
        [claim_facts(claim) for claim in objects.claims.values()],
        {name: pod_facts(pod) for name, pod in objects.pods.items()},
        fresh=objects.fresh,
    )
