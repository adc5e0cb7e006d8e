# SPDX-License-Identifier: Apache-2.0
"""Labels and annotations of pools, claims and their Pods."""

from __future__ import annotations

from typing import Final

LABEL_PHASE: Final = "pool.matrixorigin.io/phase"
LABEL_CLAIMED_BY: Final = "pool.matrixorigin.io/claimed-by"
LABEL_POOL: Final = "pool.matrixorigin.io/pool-name"
LABEL_DIRECT: Final = "pool.matrixorigin.io/direct-pod"
LABEL_OWNER: Final = "matrixorigin.io/owner"
LABEL_LAST_OWNER: Final = "matrixorigin.io/last-owner"
LABEL_CLAIM_SET: Final = "matrixorigin.io/claimset"
LABEL_INSTANCE_ID: Final = "claim.matrixorigin.io/instance-id"

ANNOTATION_CLAIM_UID: Final = "pool.matrixorigin.io/claim-uid"
"""uid of the claim that a Pod is bound to: a name alone may be given again."""
ANNOTATION_CLAIMED_AT: Final = "pool.matrixorigin.io/claimed-at"
ANNOTATION_CLAIM_LABELS: Final = "pool.matrixorigin.io/claim-labels"
"""Keys of the labels that a claim added to its Pod, comma separated: they leave with the claim,
even if it is gone by then."""
ANNOTATION_DRAINING_SINCE: Final = "pool.matrixorigin.io/draining-since"
"""When HAKeeper had surely made the store Draining; proxies learn of it some seconds later."""
ANNOTATION_LOCKS_ASKED_AT: Final = "pool.matrixorigin.io/locks-asked-at"
"""When the transaction node was asked to take the locks of a Pod back: that is never done twice."""
ANNOTATION_RETURNED_AT: Final = "pool.matrixorigin.io/returned-at"
"""When a Pod that a claim had used became idle again."""
ANNOTATION_RECLAIMED_AT: Final = "matrixorigin.io/reclaimed-at"
ANNOTATION_DELETE_ON_RECLAIM: Final = "matrixorigin.io/delete-on-reclaim"

_OURS: Final = ("pool.matrixorigin.io/", "matrixorigin.io/", "claim.matrixorigin.io/")


def is_reserved(key: str) -> bool:
    """Return whether a label means something to this operator, so that no claim may set it."""
    return key.startswith(_OURS)
