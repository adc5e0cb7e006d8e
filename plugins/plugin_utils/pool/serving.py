# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a pool serves a claim, so that nothing is left for the role of the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.clients.kubernetes.selecting import Selection
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.pool.claim_kind import why_unserved
from .objects import POOL


def is_served(session: Session, claim: Mapping[str, Any]) -> bool:
    """Tell whether a pool serves a claim, or it is being deleted."""
    if claim["metadata"].get("deletionTimestamp"):
        return True
    namespace = claim["metadata"]["namespace"]
    return not why_unserved(claim, Selection(*POOL, namespace, {}).list(session))
