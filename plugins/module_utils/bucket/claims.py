# SPDX-License-Identifier: Apache-2.0
"""What a BucketClaim says: whose the path is, where it is, which other claims are in its way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.types import Resource
from ..backup import locations
from ..backup.locations import S3Location

Json = Mapping[str, Any]

PENDING, IN_USE, RELEASED, DELETING = "Pending", "InUse", "Released", "Deleting"
"""States."""
LEGACY_FINALIZERS: Final = ("matrixorigin.io/CN-", "matrixorigin.io/DN-")
"""Beginnings of the finalizers that the Go operator leaves on a claim for each set."""
_AWS: Final = ".amazonaws.com"


@dataclass(frozen=True, slots=True)
class Owner:
    """The LogSet that a claim names.

    Attributes:
        name: in the namespace of the claim.
        uid: empty if it is not known (a claim of the Go operator).
        released: whether it was deleted and gave the path back.
    """

    name: str
    uid: str = ""
    released: bool = False


def owner_of(claim: Resource) -> Owner | None:
    """Return the LogSet of a claim; None for a free one."""
    fields = Fields("", claim).table("spec").table("logSetRef")
    if name := fields.text("name"):
        return Owner(name, fields.text("uid"), fields.flag("released"))
    # A claim of the Go operator, which names its LogSet in the status alone.
    status = claim.get("status") or {}
    namespace, _slash, name = str(status.get("bindTo") or "").partition("/")
    is_own = namespace == claim["metadata"].get("namespace")
    return Owner(name) if name and is_own and status.get("state") == IN_USE else None


def is_live(owner: Owner, log_set: Json | None) -> bool:
    """Return whether the LogSet that a claim names exists, and is no later one of that name."""
    if owner.released or log_set is None:
        return False
    return not owner.uid or owner.uid == log_set["metadata"].get("uid")


def location_of(claim: Resource) -> S3Location:
    """Return the path of a claim.

    Raises:
        InvalidSpec: it cannot be used.
    """
    spec = Fields("", claim).table("spec")
    found = locations.from_fields(spec, locations.TARGET)
    if not isinstance(found, S3Location):
        raise spec.refuse("s3", "must be set")
    return found


def overlap(one: S3Location, other: S3Location) -> bool:
    """Return whether two paths are the same, or one of them is inside the other.

    Bucket names of AWS are unique, whatever the endpoint.
    """
    aws = [_AWS in place.url for place in (one, other)]
    if all(aws):
        return locations.overlap(one, other.__class__(other.bucket, other.prefix, one.endpoint, ""))
    return locations.overlap(one, other)


def holder(claim: Resource, others: Iterable[Json], states: Iterable[str]) -> Json | None:
    """Return another claim in one of the states whose path overlaps; None if there is none."""
    own, wanted = location_of(claim), set(states)
    for other in others:
        if other["metadata"].get("uid") == claim["metadata"].get("uid"):
            continue
        if (other.get("status") or {}).get("state") in wanted and _overlaps(own, other):
            return other
    return None


def predecessor(claim: Resource, others: Sequence[Json]) -> Json | None:
    """Return an older claim that waits, too, and could be granted instead; None without one.

    The order is total, so that of two claims that see each other only one is granted.
    """
    own = location_of(claim)
    for other in others:
        waits = ((other.get("status") or {}).get("state") or PENDING) == PENDING
        gone = other["metadata"].get("deletionTimestamp")
        if not waits or gone or _order(other) >= _order(claim) or not _overlaps(own, other):
            continue
        if holder(other, others, (IN_USE, DELETING)) is None:
            return other
    return None


def _order(claim: Json) -> tuple[str, str]:
    metadata = claim["metadata"]
    return str(metadata.get("creationTimestamp")), str(metadata.get("uid"))


def _overlaps(own: S3Location, other: Json) -> bool:
    try:
        return overlap(own, location_of(other))
    except RenderingError:  # what cannot be used holds nothing
        return False


def named(claim: Json) -> str:
    """Return whose a claim is, for messages."""
    metadata, status = claim["metadata"], claim.get("status") or {}
    path = claim["spec"]["s3"]["path"]
    owner = owner_of(dict(claim))
    user = f"LogSet {metadata['namespace']}/{owner.name}" if owner else "a deleted LogSet"
    user = f"{user}, whose data are being deleted," if status.get("state") == DELETING else user
    place = f"{metadata['namespace']}/{metadata['name']}"
    return f"{path} belongs to {user} ({names.BUCKET_CLAIM} {place})"
