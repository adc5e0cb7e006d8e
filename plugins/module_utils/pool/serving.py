# SPDX-License-Identifier: Apache-2.0
"""Whether a pool serves a claim, so that nothing is left for the role of the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session
from .claim_kind import why_unserved
from .objects import POOL


def is_served(session: Session, claim: Mapping[str, Any]) -> bool:
    """Tell whether a pool serves a claim, or it is being deleted."""
    if claim["metadata"].get("deletionTimestamp"):
        return True
    namespace = claim["metadata"]["namespace"]
    return not why_unserved(claim, Selection(*POOL, namespace, {}).list(session))
