# SPDX-License-Identifier: Apache-2.0
"""Which shared storage the log of log stores belongs to: recorded on their claims.

Volumes that are kept outlive their LogSet. A log alone is no database: what is older lies in the
shared storage, and the log names its objects. With another storage, stores would start on a log
whose data are not there, and write the rest of it beside the data of another database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.types import Resource
from .claims import data_claims, recorded_storage, storage_of

Claim = Mapping[str, Any]

LOOK_AGAIN: Final = "30s"
"""When to look again at such claims: no event tells that they are gone."""
_FIELD: Final = "spec.sharedStorage"


def require_same_storage(
    resource: Resource, workload: Mapping[str, Any] | None, claims: Iterable[Claim]
) -> None:
    """Refuse to create log stores on a log that belongs to another shared storage.

    Args:
        resource: the LogSet.
        workload: its live StatefulSet. While there is one, a storage that changes is a matter of
            the schema.
        claims: the live claims with its labels.

    Raises:
        InvalidSpec: a claim has a record of another storage.
    """
    if workload is None and (found := _of_another(resource, claims)):
        raise InvalidSpec(_FIELD, found)


def awaits_deletion(
    resource: Resource, workload: Mapping[str, Any] | None, claims: Iterable[Claim]
) -> bool:
    """Return whether a LogSet is refused as long as claims with a record are there."""
    try:
        return workload is None and bool(_of_another(resource, claims))
    except InvalidSpec:
        return False


def _of_another(resource: Resource, claims: Iterable[Claim]) -> str:
    """Return why claims do not belong to the shared storage of a LogSet; empty if they do."""
    wanted = storage_of(resource)
    others = [
        (claim["metadata"]["name"], recorded)
        for _ordinal, claim in data_claims(resource, claims)
        if (recorded := recorded_storage(claim)) and recorded != wanted
    ]
    if not others:
        return ""
    (first, recorded), more = others[0], ", …" if len(others) > 1 else ""
    return (
        f"the volumes of log stores of an earlier database are there ({first}{more}), whose data "
        f"are in {recorded}; to go on with it, use that storage; for an empty database, delete "
        "these PersistentVolumeClaims or choose another name; if you have moved the data "
        f"yourself, remove the annotation {names.ANNOTATION_SHARED_STORAGE} from each"
    )
