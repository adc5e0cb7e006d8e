# SPDX-License-Identifier: Apache-2.0
"""The shape of a plan for a BucketClaim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..backup.task.deletion import DeletionPlan
from .claims import PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketPlan(DeletionPlan):
    """A plan for a BucketClaim, whose phase is Pending, InUse, Released or Deleting.

    Attributes:
        bind_to: ``<namespace>/<name>`` of the LogSet; empty if none uses the path.
        facts: further fields of the status.
        unmarked: ``reason`` and ``message`` of why a path in use is not marked; empty if it is.
        expired: the claim itself, when another one has taken the path.
        requeue: when to check again; empty for not at all.
    """

    phase: str = PENDING
    bind_to: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    unmarked: Mapping[str, str] = field(default_factory=dict)
    expired: Sequence[Mapping[str, Any]] = ()
    requeue: str = ""
