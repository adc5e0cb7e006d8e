# SPDX-License-Identifier: Apache-2.0
"""What a Job of Kubernetes says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def end_of(job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the condition of a Job that says that it has ended; None while it has not."""
    for entry in (job.get("status") or {}).get("conditions") or []:
        if entry.get("type") in ("Complete", "Failed") and entry.get("status") == "True":
            return entry  # type: ignore[no-any-return]
    return None
