# SPDX-License-Identifier: Apache-2.0
"""What a BucketClaim says: whose the path is, where it is, which other claims are in its way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.errors import RenderingError
from ..api.fields import Fields
from ..api.owners import Owner as OwnerOfFiles
from ..api.types import Resource
from ..backup.claimed_paths import scope_of
from ..location import locations
from ..location.locations import S3Location
from ..reporting.conditions import find
from ..reporting.reasons import BackupReason, ConditionType

Json = Mapping[str, Any]

PENDING, IN_USE, RELEASED, DELETING = "Pending", "InUse", "Released", "Deleting"
"""States."""
LEGACY_FINALIZERS: Final = ("matrixorigin.io/CN-", "matrixorigin.io/DN-")
"""Beginnings of the finalizers that the Go operator leaves on a claim for each set."""


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


@dataclass(frozen=True, slots=True)
class Granted:
    """The place for which a path was granted.

    Attributes:
        endpoint: of the server.
        path: the bucket and the prefix.
        mark: the uid in its mark; empty without one.
    """

    endpoint: str
    path: str
    mark: str = ""

    @classmethod
    def at(cls, location: S3Location) -> Granted:
        """Return a location as a place without a mark."""
        return cls(location.endpoint, location.address)

    def is_at(self, other: Granted) -> bool:
        """Return whether it is the same place."""
        return (self.endpoint, self.path) == (other.endpoint, other.path)

    @property
    def document(self) -> dict[str, str]:
        """As the status has it."""
        place = {"endpoint": self.endpoint, "path": self.path}
        return {**place, "mark": self.mark} if self.mark else place


def granted_of(claim: Json) -> Granted | None:
    """Return for which place the path of a claim was granted; None where that is not known."""
    found = (claim.get("status") or {}).get("granted")
    if not isinstance(found, Mapping):
        return None
    endpoint, path, mark = (found.get(name) for name in ("endpoint", "path", "mark"))
    if not (isinstance(endpoint, str) and isinstance(path, str)):
        return None
    return Granted(endpoint, path, mark if isinstance(mark, str) else "")


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


def location_of(claim: Json) -> S3Location:
    """Return the path of a claim, which may be in use.

    Raises:
        InvalidSpec: it cannot be used.
    """
    spec = Fields("", claim).table("spec")
    location = locations.from_fields(spec, locations.TARGET, scope_of(claim), in_use=True)
    if not isinstance(location, S3Location):
        raise spec.refuse("s3", "must be set")
    return location


def holder(claim: Resource, others: Iterable[Json], states: Collection[str]) -> Json | None:
    """Return another claim in one of the states whose path overlaps; None if there is none.

    A claim whose path cannot be read is in nobody's way.
    """
    own = location_of(claim)
    return next((one for one in _in(states, claim, others) if _overlaps(own, one)), None)


def possible_holder(
    claim: Resource, others: Iterable[Json], states: Collection[str]
) -> Json | None:
    """Return another claim in one of the states whose path may overlap; None if there is none.

    A claim whose path cannot be read may have the same one. So this is asked before data go.
    """
    own = location_of(claim)
    for other in _in(states, claim, others):
        if locations.may_overlap(own, Fields("spec", other.get("spec") or {}), scope_of(other)):
            return other
    return None


def _in(states: Collection[str], claim: Resource, others: Iterable[Json]) -> Iterator[Json]:
    """Yield the other claims that are in one of the states."""
    for other in others:
        is_other = other["metadata"].get("uid") != claim["metadata"].get("uid")
        if is_other and _state(other) in states:
            yield other


def predecessor(claim: Resource, others: Sequence[Json]) -> Json | None:
    """Return an older claim that waits, too, and could be granted instead; None without one.

    The order is total, so that of two claims that see each other only one is granted. One that is
    not granted data which are kept is in nobody's way.
    """
    own = location_of(claim)
    for other in others:
        waits = (_state(other) or PENDING) == PENDING
        gone = other["metadata"].get("deletionTimestamp")
        if not waits or gone or _order(other) >= _order(claim) or not _overlaps(own, other):
            continue
        if holder(other, others, (IN_USE, DELETING)) is None and kept_from(other, others) is None:
            return other
    return None


def kept_from(claim: Resource, others: Iterable[Json]) -> Json | None:
    """Return a released claim whose data this one must not take over unasked; None without one.

    It waited while another database had the path, so the path may be in its spec by mistake. If
    the data of that database are kept, it gets them again when it is created again, and nobody
    else does who has not adopted them.
    """
    annotations = claim["metadata"].get("annotations") or {}
    if annotations.get(names.ANNOTATION_ADOPT) or not was_refused(claim):
        return None
    own, log_set = location_of(claim), _log_set_of(claim)
    for other in _in((RELEASED,), claim, others):
        if has_run(other) and _log_set_of(other) != log_set and _overlaps(own, other):
            return other
    return None


def has_run(claim: Json) -> bool:
    """Return whether a log store was ever seen ready at the path of a claim."""
    annotations = claim["metadata"].get("annotations") or {}
    return bool(annotations.get(names.ANNOTATION_WAS_RUNNING) == "true")


def was_refused(claim: Json) -> bool:
    """Return whether a claim waits because somebody else had its path.

    Its condition Ready is the record of that: Synced also tells of a pass that failed.
    """
    found = find(claim, ConditionType.READY)
    is_waiting = (_state(claim) or PENDING) == PENDING
    return is_waiting and found.get("reason") == BackupReason.PATH_TAKEN.value


def _log_set_of(claim: Json) -> tuple[str, str] | None:
    """Return namespace and name of the LogSet of a claim, whichever of that name it was."""
    owner = owner_of(dict(claim))
    return (str(claim["metadata"].get("namespace")), owner.name) if owner else None


def kept_before(claim: Resource, others: Iterable[Json]) -> OwnerOfFiles | None:
    """Return who marked a path that was released, and is used again; None if nobody did."""
    own = location_of(claim)
    found = sorted(_in((RELEASED,), claim, others), key=_order, reverse=True)
    for other in found:
        granted = granted_of(other)
        if granted is None or not granted.mark or not _is_at(own, other, granted):
            continue
        metadata = other["metadata"]
        return OwnerOfFiles(
            names.BUCKET_CLAIM, metadata["namespace"], metadata["name"], granted.mark
        )
    return None


def followed(claim: Resource, others: Iterable[Json]) -> list[Json]:
    """Return the released claims, as they are deleted, whose path this one has by now."""
    own = location_of(claim)
    return [
        {
            "apiVersion": names.API_VERSION,
            "kind": names.BUCKET_CLAIM,
            "metadata": {key: one["metadata"].get(key) for key in ("name", "namespace", "uid")},
        }
        for one in _in((RELEASED,), claim, others)
        if not one["metadata"].get("deletionTimestamp") and _overlaps(own, one)
    ]


def _is_at(own: S3Location, other: Json, granted: Granted) -> bool:
    """Return whether a place is exactly that of another claim, under whichever name."""
    place = _place_of(other, granted)
    return place is not None and locations.overlap(own, place) and own.address == place.address


def _place_of(claim: Json, granted: Granted) -> S3Location | None:
    """Return a place of a claim, as its Pods look it up; None if it cannot be read."""
    s3 = {"endpoint": granted.endpoint, "path": granted.path}
    try:
        place = locations.from_fields(
            Fields("", {"s3": s3}), locations.TARGET, scope_of(claim), in_use=True
        )
    except RenderingError:
        return None
    return place if isinstance(place, S3Location) else None


def _state(claim: Json) -> str:
    """Return the state of a claim; one that is deleted with its data holds the path already."""
    state = str((claim.get("status") or {}).get("state") or "")
    s3 = Fields("", claim).table("spec").raw("s3")
    deletes = isinstance(s3, Mapping) and s3.get("s3RetentionPolicy") == "Delete"
    is_deleted = deletes and claim["metadata"].get("deletionTimestamp")
    return DELETING if is_deleted and state == RELEASED else state


def _order(claim: Json) -> tuple[str, str]:
    metadata = claim["metadata"]
    return str(metadata.get("creationTimestamp")), str(metadata.get("uid"))


def _overlaps(own: S3Location, other: Json) -> bool:
    granted = granted_of(other)
    # While it is moved to another server, it still has the place that it was granted.
    before = _place_of(other, granted) if granted is not None else None
    if before is not None and locations.overlap(own, before):
        return True
    try:
        return locations.overlap(own, location_of(other))
    except RenderingError:  # what cannot be read is in nobody's way
        return False


def named(claim: Json) -> str:
    """Return whose a claim is, for messages."""
    metadata, status = claim["metadata"], claim.get("status") or {}
    path = ((claim.get("spec") or {}).get("s3") or {}).get("path")
    owner = owner_of(dict(claim))
    user = f"LogSet {metadata['namespace']}/{owner.name}" if owner else "a deleted LogSet"
    user = f"{user}, whose data are being deleted," if status.get("state") == DELETING else user
    place = f"{metadata['namespace']}/{metadata['name']}"
    return f"{path} belongs to {user} ({names.BUCKET_CLAIM} {place})"
