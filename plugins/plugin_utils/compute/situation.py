# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pass over compute nodes starts from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.api import names
from ...module_utils.api.pod_addresses import log_addresses
from ...module_utils.api.pods import live_pods
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import Reach
from ...module_utils.compute import pods as cn_pods
from ...module_utils.compute.drain import (
    Policy,
)
from ...module_utils.passes import hakeeper
from ...module_utils.reporting.conditions import holds
from ...module_utils.reporting.reasons import ConditionType


@dataclass(frozen=True, slots=True)
class Situation:
    """What a pass starts from.

    Attributes:
        policy: how the set drains.
        desired: Pods that the set should have; None if others decide on that.
        present: replicas of its workload; None if there is none.
        pods: Pods of the set.
        others: Pods of log service and transaction node, to find their addresses.
        addresses: where HAKeeper may be.
        now: the current time, Unix time.
        reported: work state by Pod, as the status of the set has it.
        chosen: Pods that are deleted first when the set shrinks.
        reach: what is dialled of the addresses that HAKeeper names.
        degraded: whether the set is reported to have lost something.
        log_set: the LogSet that the set depends on; None where the log service is an external one.
        mute: Pods that do not answer, although HAKeeper hears them.
    """

    policy: Policy
    desired: int | None
    present: int | None
    pods: Sequence[Mapping[str, Any]]
    others: Sequence[Mapping[str, Any]]
    addresses: Sequence[str]
    now: float
    reported: Mapping[str, str] = field(default_factory=dict)
    chosen: Sequence[str] = ()
    reach: Reach = Reach.NETWORK
    degraded: bool = False
    log_set: Mapping[str, Any] | None = None
    mute: frozenset[str] = frozenset()

    @property
    def chooses(self) -> bool:
        """Whether it matters which Pods are deleted: they drain, or somebody chose them."""
        return self.policy.drains or bool(self.chosen and (self.present or 0) > (self.desired or 0))

    @property
    def is_managed(self) -> bool:
        """Whether anything of this set is to be set in HAKeeper."""
        unasked = [cn_pods.cn_store(pod, None, asked=False) for pod in self.pods]
        return self.chooses or cn_pods.is_managed(self.policy, unasked)


def observe(
    session: Session,
    resource: Mapping[str, Any],
    log_set: Mapping[str, Any] | None,
    workload: Mapping[str, Any] | None,
) -> Situation:
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
    return Situation(
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
