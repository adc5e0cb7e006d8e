# SPDX-License-Identifier: Apache-2.0
"""Paths that databases have, or that are being deleted: nothing is restored there.

What a BucketClaim is, the package ``bucket`` decides; here only what it says is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api.fields import Fields
from ..api.types import Resource
from ..location import locations
from ..location.endpoints import Scope
from ..location.locations import Location
from .restore_task import owning_cluster

_IN_USE: Final = "InUse"
_DELETING: Final = "Deleting"


def taken(resource: Resource, target: Location, claims: Iterable[Mapping[str, Any]]) -> str:
    """Return which BucketClaim keeps a RestoreJob from its target; empty if none does.

    A claim of the cluster that the RestoreJob belongs to does not, unless its data are deleted.

    Args:
        resource: the RestoreJob.
        target: where it copies to.
        claims: BucketClaims that can be read.
    """
    cluster = owning_cluster(resource)
    own = (resource["metadata"]["namespace"], cluster["name"]) if cluster else None
    for claim in claims:
        metadata, spec = claim["metadata"], Fields("", claim).table("spec")
        place = f"{metadata['namespace']}/{metadata['name']}"
        going = _is_going(claim, spec)
        user = (metadata["namespace"], spec.table("logSetRef").text("name"))
        in_use = (claim.get("status") or {}).get("state") == _IN_USE and user != own
        domain = spec.raw("clusterDomain")
        scope = Scope(metadata["namespace"], domain if isinstance(domain, str) else "")
        if (going or in_use) and locations.may_overlap(target, spec, scope):
            what = "its data are being deleted" if going else f"LogSet {'/'.join(user)} uses it"
            return f"the path of BucketClaim {place} is not free: {what}"
    return ""


def _is_going(claim: Mapping[str, Any], spec: Fields) -> bool:
    if (claim.get("status") or {}).get("state") == _DELETING:
        return True
    s3 = spec.raw("s3")
    deletes = isinstance(s3, Mapping) and s3.get("s3RetentionPolicy") == "Delete"
    return deletes and bool(claim["metadata"].get("deletionTimestamp"))
