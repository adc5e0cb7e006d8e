# SPDX-License-Identifier: Apache-2.0
"""Compute resources of the containers that the operator adds to those of a database.

A quota refuses a Pod unless each of its containers has every request and limit that the quota
counts, and a LimitRange may have bounds that no default can know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import versions
from .sets import SetContext

Json = dict[str, Any]


def helper_resources(
    context: SetContext, complete: Mapping[str, Any], before: Mapping[str, Any] | None = None
) -> Json:
    """Return the field ``resources`` of a container, or nothing where it has none.

    Args:
        context: the set; its spec may have ``helperResources``.
        complete: requests and limits of CPU and memory.
        before: those before operatorVersion 1.4.0; a newer operator must not restart what has them.
    """
    chosen = context.spec.table("helperResources").data
    is_complete = versions.operator_does(context.operator, "CompleteHelperResources")
    resources = chosen or (complete if is_complete else before)
    return {"resources": dict(resources)} if resources else {}
