# SPDX-License-Identifier: Apache-2.0
"""What a pass over a DatabaseUser observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..api.types import Resource
from ..workload.plans import Observed


@dataclass(frozen=True, slots=True)
class UserObserved:
    """What is known of a DatabaseUser when a pass decides.

    Attributes:
        cluster: the MatrixOneCluster that it names; None if there is none.
        others: the DatabaseUsers of its namespace, itself among them.
    """

    cluster: Resource | None = None
    others: Sequence[Resource] = ()

    @classmethod
    def read(cls, observed: Observed) -> UserObserved:
        """Read what ``observe`` returned by label."""
        return cls(cluster=observed.get("cluster"), others=observed.get("others") or ())
