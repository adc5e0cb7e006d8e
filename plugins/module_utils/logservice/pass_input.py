# SPDX-License-Identifier: Apache-2.0
"""What a pass over log stores starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PassInput:
    """What a pass starts from.

    Attributes:
        resource: the LogSet as it is in the cluster now.
        workload: its StatefulSet.
        pods: its Pods.
        now: the current time, Unix time.
        claims: those with its labels.
    """

    resource: Json
    workload: Json
    pods: Sequence[Json]
    now: float
    claims: Sequence[Json] = ()

    @property
    def present(self) -> int:
        """Replicas of the workload."""
        return int((self.workload.get("spec") or {}).get("replicas") or 0)

    @property
    def desired(self) -> int:
        """Replicas that the spec asks for."""
        return int((self.resource.get("spec") or {}).get("replicas") or 0)
