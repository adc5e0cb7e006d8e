# SPDX-License-Identifier: Apache-2.0
"""A transaction node that was silent for a time: what it took for dead stays dead to it.

A lock service that does not answer counts as inactive for a day in the transaction node's memory,
and the commits of its transactions fail: "cannot commit a orphan transaction" (cleanCommitState in
MatrixOne's pkg/lockservice/lock_table_allocator.go). A transaction node that was cut off from
compute nodes takes them for inactive, so it is restarted when HAKeeper hears it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..api.pods import main_process
from ..reporting.health import HEARD_SECONDS, fell_silent, was_silent

Pod = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Silence:
    """What HAKeeper answered about a transaction node.

    Attributes:
        seconds: since its last heartbeat.
        isolated: whether a compute node was heard meanwhile, which it may have taken for dead.
    """

    seconds: float
    isolated: bool = False


class Step(Enum):
    """What is to be done about a transaction node."""

    NOTHING = 0
    RECORD = 1
    """It is silent: record that on its Pod, with the start of its process."""
    RESTART = 2
    """It was silent and is back: delete its Pod."""


def next_step(pod: Pod, silence: Silence | None, now: float) -> Step:
    """Return what is to be done about a transaction node that may have been silent.

    Args:
        pod: its Pod.
        silence: what HAKeeper answered about it; None where that is unknown.
        now: the present, Unix time.
    """
    if silence is None or pod["metadata"].get("deletionTimestamp"):
        return Step.NOTHING
    if was_silent(pod):
        return Step.RESTART if silence.seconds <= HEARD_SECONDS else Step.NOTHING
    fell = fell_silent(main_process(pod), silence.seconds, now)
    return Step.RECORD if fell and silence.isolated else Step.NOTHING
