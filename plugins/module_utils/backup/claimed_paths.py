# SPDX-License-Identifier: Apache-2.0
"""Paths that databases have, or that are being deleted: nothing is restored or backed up there.

What a BucketClaim is, the package ``bucket`` decides; here only what it says is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.types import Resource
from ..location import locations
from ..location.endpoints import Scope
from ..location.locations import Location
from ..workload.component import Reference

_IN_USE: Final = "InUse"
_DELETING: Final = "Deleting"
_HAS_DATA: Final = frozenset({_IN_USE, _DELETING, "Released"})


def claim_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe for a Job whose target is in a bucket: the claims that can be read."""
    if not Fields("", resource).table("spec").table("target").table("s3").data:
        return {}
    claims = {"api_version": names.API_VERSION, "kind": names.BUCKET_CLAIM, "labels": {}}
    return {"claims": {**claims, "if_allowed": True}}


def taken(
    resource: Resource,
    target: Location,
    claims: Iterable[Mapping[str, Any]],
    cluster: Mapping[str, Any] | None,
) -> str:
    """Return which BucketClaim keeps a RestoreJob from its target; empty if none does.

    A claim of the cluster that the RestoreJob belongs to does not, unless its data are deleted.

    Args:
        resource: the RestoreJob.
        target: where it copies to.
        claims: BucketClaims that can be read.
        cluster: owner reference to the cluster that it belongs to, if any.
    """
    own = (resource["metadata"]["namespace"], cluster["name"]) if cluster else None
    for claim in claims:
        metadata, spec = claim["metadata"], Fields("", claim).table("spec")
        place = _named(metadata)
        is_deleting = _is_deleting(claim, spec)
        user = (metadata["namespace"], spec.table("logSetRef").text("name"))
        in_use = (claim.get("status") or {}).get("state") == _IN_USE and user != own
        if (is_deleting or in_use) and locations.may_overlap(target, spec, scope_of(claim)):
            what = (
                "its data are being deleted" if is_deleting else f"LogSet {'/'.join(user)} uses it"
            )
            return f"the path of BucketClaim {place} is not free: {what}"
    return ""


def data_at(target: Location, claims: Iterable[Mapping[str, Any]]) -> str:
    """Return which BucketClaim has data at a target, around it or inside it; empty if none does.

    One whose path cannot be read is in nobody's way: the store says what is there.

    Args:
        target: of a backup.
        claims: BucketClaims that can be read.
    """
    for claim in claims:
        metadata, spec = claim["metadata"], Fields("", claim).table("spec")
        status = claim.get("status")
        state = status.get("state") if isinstance(status, Mapping) else None
        if state not in _HAS_DATA:
            continue
        try:
            place = locations.from_fields(spec, locations.TARGET, scope_of(claim), in_use=True)
            if locations.overlap(target, place):
                return f"{place.address} of {names.BUCKET_CLAIM} {_named(metadata)}"
        except RenderingError:
            continue
    return ""


def _named(metadata: Mapping[str, Any]) -> str:
    return f"{metadata['namespace']}/{metadata['name']}"


def scope_of(claim: Mapping[str, Any]) -> Scope:
    """Return from where the endpoint of a claim is looked up: the Pods of its LogSet."""
    domain = (claim.get("spec") or {}).get("clusterDomain")
    return Scope(
        namespace=str(claim["metadata"].get("namespace") or ""),
        cluster_domain=domain if isinstance(domain, str) else "",
    )


def _is_deleting(claim: Mapping[str, Any], spec: Fields) -> bool:
    if (claim.get("status") or {}).get("state") == _DELETING:
        return True
    s3 = spec.raw("s3")
    deletes = isinstance(s3, Mapping) and s3.get("s3RetentionPolicy") == "Delete"
    return deletes and bool(claim["metadata"].get("deletionTimestamp"))
