# SPDX-License-Identifier: Apache-2.0
"""What of the spec of a MatrixoneCluster is not served, as reason and message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..reporting.reasons import EarlyReason
from .rendering import LAUNCH, EarlyContext

NO_REFUSAL: Final[Mapping[str, str]] = {"reason": "", "message": ""}
TOO_MANY: Final = (
    "spec.replicas: must be 0 or 1, for every Pod would be a database of its own behind the same "
    "Service; use MatrixOneCluster of core.matrixorigin.io for more than one Pod"
)


def refused(reason: EarlyReason, message: str) -> Mapping[str, str]:
    """Return a refusal."""
    return {"reason": reason.value, "message": message}


def too_many(context: EarlyContext) -> bool:
    """Return whether a database of one process is asked for more than once."""
    return context.runtime == LAUNCH and context.replicas > 1
