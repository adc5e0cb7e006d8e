# SPDX-License-Identifier: Apache-2.0
"""What a pass over compute nodes starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import pods as cn_pods
from .drain import Policy


@dataclass(frozen=True, slots=True)
class PassInput:
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
        degraded: whether the set is reported to have lost something.
        log_set: the LogSet that the set depends on; None where the log service is an external one.
        unresponsive: Pods that do not answer, although HAKeeper hears them.
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
    degraded: bool = False
    log_set: Mapping[str, Any] | None = None
    unresponsive: frozenset[str] = frozenset()

    @property
    def chooses(self) -> bool:
        """Whether it matters which Pods are deleted: they drain, or somebody chose them."""
        return self.policy.drains or bool(self.chosen and (self.present or 0) > (self.desired or 0))

    @property
    def is_managed(self) -> bool:
        """Whether anything of this set is to be set in HAKeeper."""
        unasked = [cn_pods.cn_store(pod, None, asked=False) for pod in self.pods]
        return self.chooses or cn_pods.is_managed(self.policy, unasked)
