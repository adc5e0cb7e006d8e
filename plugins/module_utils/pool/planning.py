# SPDX-License-Identifier: Apache-2.0
"""One round of a pool's pass: from a snapshot to writes (extended.md §4)."""

from __future__ import annotations

from .facts import Snapshot
from .writes import PoolPlan


def plan_pool(snapshot: Snapshot) -> PoolPlan:
    """Return what one round does; a pass repeats rounds until there is nothing left to write."""
    del snapshot
    return PoolPlan()
