# SPDX-License-Identifier: Apache-2.0
"""How far a StatefulSet or Deployment is with its latest template, and what holds it on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .conditions import find
from .reasons import ConditionType

UPDATE_PAUSED = "spec.pauseUpdate holds back changes of Pods"
"""What an update waits for that is held back on purpose."""
_HELD = "held at partition"
"""How the message of a roll that is held at a partition begins."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """How far a StatefulSet or Deployment is.

    Attributes:
        exists: there is a workload.
        seen: its controller has seen the latest template and size.
        desired: Pods it should have.
        current: Pods it has.
        ready: Pods that are ready.
        updated: Pods of the latest template.
        young: Pods that are ready, but not for the seconds that count during an update.
        least: those seconds.
    """

    exists: bool
    seen: bool
    desired: int
    current: int
    ready: int
    updated: int
    young: int = 0
    least: int = 0

    @classmethod
    def of(cls, workload: Mapping[str, Any] | None, replicas: int | None) -> Rollout:
        """Read a workload.

        Args:
            workload: the live object; None if there is none yet.
            replicas: what the spec asks for; None to use that of the workload.
        """
        spec = (workload or {}).get("spec") or {}
        status = (workload or {}).get("status") or {}
        generation = ((workload or {}).get("metadata") or {}).get("generation") or 0
        desired = replicas if replicas is not None else spec.get("replicas")
        ready, least = int(status.get("readyReplicas") or 0), int(spec.get("minReadySeconds") or 0)
        return cls(
            exists=workload is not None,
            seen=workload is not None and (status.get("observedGeneration") or 0) >= generation,
            desired=1 if desired is None else int(desired),
            current=int(status.get("replicas") or 0),
            ready=ready,
            updated=int(status.get("updatedReplicas") or 0),
            young=max(0, ready - int(status.get("availableReplicas") or 0)) if least else 0,
            least=least,
        )

    @property
    def up_to_date(self) -> bool:
        """Whether exactly the desired Pods exist, all of the latest template."""
        return self.seen and self.current == self.desired and self.updated >= self.desired


def partition_of(resource: Mapping[str, Any]) -> int:
    """Return the lowest ordinal of a StatefulSet's Pods that a change of the spec reaches."""
    strategy = (resource.get("spec") or {}).get("updateStrategy") or {}
    return int(strategy.get("partition") or 0)


def held_at(resource: Mapping[str, Any], rollout: Rollout, noun: str) -> str:
    """Return at which partition the roll of a set is held; empty if it is not, or is over.

    Args:
        resource: the set.
        rollout: how far its workload is.
        noun: what its Pods are called.
    """
    partition = partition_of(resource)
    whole = rollout.current == rollout.desired <= rollout.ready
    done = rollout.updated >= rollout.desired - partition
    if not partition or rollout.up_to_date or not (rollout.seen and whole and done):
        return ""
    counted = f"{rollout.updated}/{rollout.desired} {noun}"
    return f"{_HELD} {partition}: {counted} run what the spec asks for"


def is_on_purpose(waiting: str) -> bool:
    """Return whether what an update waits for comes only with a change of a spec."""
    return waiting == UPDATE_PAUSED or f": {_HELD} " in waiting


def is_held(resource: Mapping[str, Any] | None) -> bool:
    """Return whether the status of a set says that its roll is held at a partition."""
    return str(find(resource, ConditionType.SYNCED).get("message")).startswith(_HELD)
