# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The admission function of all kinds; the runner's webhook calls it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..module_utils.admission.pod_security import level_of
from ..module_utils.admission.shapes import FORBIDDEN
from ..module_utils.api.plain import plain
from ..module_utils.kinds import kind_of, refusals, warnings_of
from ..module_utils.reporting.report import held_by_fence

_FENCE = "metadata.annotations"


def admission(resource: Any, request: Any) -> Any:
    """Return what is wrong with a resource beyond its schema; see module_utils.kinds."""
    asked, desired = plain(request), plain(resource)
    if asked.get("operation") == "DELETE":
        held = held_by_fence(desired)
        refused = [{"field": _FENCE, "message": held, "reason": FORBIDDEN}] if held else []
        return {"errors": refused, "warnings": kind_of(desired).judge.warns_of_deletion(desired)}
    old = asked.get("old") if asked.get("operation") == "UPDATE" else None
    errors = [
        {"field": mistake.field, "message": mistake.message, "reason": mistake.reason}
        for mistake in refusals(desired, old, level_of(os.environ))
    ]
    return {"errors": errors, "warnings": warnings_of(desired, old)}


class FilterModule:
    """The filters of this file by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters."""
        return {"admission": admission}
