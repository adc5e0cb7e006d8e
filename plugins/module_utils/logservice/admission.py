# SPDX-License-Identifier: Apache-2.0
"""What the schema of a LogSet cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..admission.sets import set_mistakes
from ..admission.shapes import Mistake
from ..admission.storage import shared_storage_mistakes
from ..api import toml
from ..api.errors import InvalidSpec
from .removal import bucket_deletes, retention_deletes


def mistakes_of_logset(path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what is wrong with a LogSet.

    Args:
        path: of the spec, e.g. ``spec`` or ``spec.logService``.
        spec: as the API server stores it.
    """
    yield from set_mistakes(path, spec)
    storage, overlay = spec.get("sharedStorage"), spec.get("overlay") or {}
    yield from shared_storage_mistakes(f"{path}.sharedStorage", storage, overlay)


def locality_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of log stores that all have a locality.

    But for the first ones, HAKeeper gives replicas that vote only to stores without a locality
    (selectStore in MatrixOne's pkg/hakeeper/checkers/logservice/filter.go). So nothing takes the
    place of a store that is lost, and the operator gives log stores none by itself.
    """
    try:
        config = toml.parse(spec.get("config"), f"{path}.config")
    except InvalidSpec:
        return
    if toml.get(config, ("logservice", "locality")):
        yield (
            f"{path}.config: with a locality in [logservice] the log stores get no replicas "
            "that vote; one that is lost would not be replaced"
        )


def size_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of two log stores, of which neither may fail."""
    if spec.get("replicas") == 2:
        yield (
            f"{path}.replicas: 2 log stores do not survive the failure of one; 3, or a higher odd "
            "number, do"
        )


def retention_warnings(
    path: str, spec: Mapping[str, Any], before: Mapping[str, Any]
) -> Iterator[str]:
    """Warn of what becomes of data at the end, when a spec newly says so.

    Args:
        path: of the spec.
        spec: as it is to be.
        before: as it was; empty for a new one.
    """
    if retention_deletes(spec) and not (before and retention_deletes(before)):
        chosen = "" if spec.get("pvcRetentionPolicy") else ", the default,"
        yield (
            f"{path}.pvcRetentionPolicy: Delete{chosen} deletes the volumes of the log service, "
            "and with them the database, when this resource is deleted; set Retain for data that "
            "matters"
        )
    if bucket_deletes(spec) and not (before and bucket_deletes(before)):
        chosen = "" if _bucket(spec).get("s3RetentionPolicy") else ", the default,"
        yield (
            f"{path}.sharedStorage.s3.s3RetentionPolicy: Delete{chosen} deletes the objects in "
            f"{_bucket(spec).get('path')} when this resource is deleted; set Retain for data that "
            "matters"
        )


def deletion_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of what is lost by the deletion of a log service."""
    if retention_deletes(spec):
        yield (
            f"{path}.pvcRetentionPolicy is Delete: the volumes of the log service are deleted, and "
            "with them the database"
        )
    bucket = _bucket(spec).get("path")
    if bucket and bucket_deletes(spec):
        yield f"{path}.sharedStorage.s3: the objects in {bucket} are deleted"


def _bucket(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return (spec.get("sharedStorage") or {}).get("s3") or {}
