# SPDX-License-Identifier: Apache-2.0
"""Read what a pass over compute nodes starts from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..api import names
from ..api.pod_addresses import log_addresses
from ..api.pods import live_pods
from ..clients.kubernetes.session import Session
from ..passes import hakeeper
from ..reporting.conditions import holds
from ..reporting.reasons import ConditionType
from . import pods as cn_pods
from .pass_input import PassInput


def observe(
    session: Session,
    resource: Mapping[str, Any],
    log_set: Mapping[str, Any] | None,
    workload: Mapping[str, Any] | None,
) -> PassInput:
    """Find out what a pass starts from.

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
    others = hakeeper.members(session, log_set)
    spec = resource.get("spec") or {}
    return PassInput(
        policy=cn_pods.policy_of(dict(resource)),
        desired=spec.get("replicas"),
        present=((workload or {}).get("spec") or {}).get("replicas"),
        pods=live_pods(
            cn_pods.outside_pools(hakeeper.pods_of(session, metadata["namespace"], labels))
        ),
        others=others,
        addresses=log_addresses(others) if log_set else hakeeper.external(resource),
        now=time.time(),
        chosen=[str(name) for name in spec.get("podsToDelete") or ()],
        reported=cn_pods.recorded_states(resource),
        degraded=holds(resource, ConditionType.DEGRADED),
        log_set=log_set,
    )
