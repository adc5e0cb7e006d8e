# SPDX-License-Identifier: Apache-2.0
"""What the action on the stores of a set came to, as far as all kinds of sets have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..reporting.events import Occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresResult:
    """What the action did and heard; the default is that it did not run.

    A kind whose sets have such an action has a class of its own, which adds what it hears.

    Attributes:
        ran: whether it ran: not so in a dry run, for a set that is paused, or without a workload.
        replicas: how many replicas the workload keeps for now; None to leave them to the spec.
        events: what happened.
    """

    ran: bool = False
    replicas: int | None = None
    events: Sequence[Occurrence] = ()

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Return it from a task's result: ``stores``; empty when the action did not run."""
        return cls(
            ran=bool(found),
            replicas=found.get("replicas"),
            events=tuple(found.get("events") or ()),
        )

    @classmethod
    def of(cls, stores: StoresResult) -> Self:
        """Return what a pass has of stores as of this kind; nothing if the action did not run."""
        return stores if isinstance(stores, cls) else cls()
