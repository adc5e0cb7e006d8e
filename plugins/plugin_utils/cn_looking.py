# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out what a round over compute nodes begins with, make it, and show how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..module_utils.api import names
from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.clients.matrixone import Deadline
from ..module_utils.compute import pods as cn_pods
from . import log_members
from .cn_round import Outcome, Round, Situation
from .pod_writing import PodWriter

Json = dict[str, Any]


def situation_of(
    session: Session,
    resource: Mapping[str, Any],
    log_set: Mapping[str, Any] | None,
    workload: Mapping[str, Any] | None,
) -> Situation:
    """Return what a round begins with.

    Args:
        session: connection to the API server.
        resource: the CNSet.
        log_set: the LogSet that it depends on; None where the log service is an external one.
        workload: the live Deployment of the set; None to go by the spec.

    Raises:
        InvalidSpec: the drain timeout is no duration.
        KubeError: the API server refuses.
    """
    metadata = resource["metadata"]
    labels = names.selector_labels(names.CN_SET, metadata["name"], metadata["namespace"])
    others = log_members.members(session, log_set)
    spec = resource.get("spec") or {}
    return Situation(
        policy=cn_pods.policy_of(dict(resource)),
        wanted=spec.get("replicas"),
        present=((workload or {}).get("spec") or {}).get("replicas"),
        pods=cn_pods.live_pods(log_members.pods_of(session, metadata["namespace"], labels)),
        others=others,
        addresses=cn_pods.log_addresses(others) if log_set else log_members.external(resource),
        now=time.time(),
        chosen=[str(name) for name in spec.get("podsToDelete") or ()],
        told=cn_pods.told_states(resource),
    )


def look(session: Session, situation: Situation, seconds: float) -> Outcome:
    """Make one round, which ends after so many seconds whatever MatrixOne does."""
    return Round(situation, PodWriter(Writer(session)), Deadline.after(seconds)).run()


def shown(outcome: Outcome) -> Json:
    """Return how a round ended as a task's result has it: ``stores`` of ``cn_stores``."""
    return {
        "managed": outcome.managed,
        "reached": outcome.reached,
        "problem": outcome.problem,
        "states": outcome.states,
        "unsettled": outcome.unsettled,
        "replicas": outcome.replicas,
        "drains": {
            pod: {
                "step": drain.step.value,
                "message": drain.message,
                "until": drain.until,
                "finished": drain.finished,
            }
            for pod, drain in sorted(outcome.drains.items())
        },
    }
