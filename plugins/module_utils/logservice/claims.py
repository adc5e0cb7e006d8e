# SPDX-License-Identifier: Apache-2.0
"""What the claims of log stores record about the log service that they belong to.

Volumes that are kept outlive their LogSet and what is recorded on it. So the record is on their
claims, too: who founded the log service, which stores were replaced, and where its data are. A
LogSet that finds them continues: it neither restarts the count of incarnations, nor lets a store
that lost its volume found a second HAKeeper beside the one that the other volumes hold, nor starts
beside data that the log does not belong to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..api import names
from ..api.fields import Fields
from ..api.seen import as_seen
from ..api.types import BootstrapMember, LogSetObserved, Manifest, Resource
from ..workload.storage import bucket_and_prefix
from .left_stores import left_stores
from .pods import recorded

Claim = Mapping[str, Any]


def decided_earlier(resource: Resource, claims: Iterable[Claim]) -> LogSetObserved | None:
    """Read back what was decided about the log service that claims belong to.

    Args:
        resource: the LogSet.
        claims: the live claims with its labels.

    Returns:
        Members and incarnations; None if no claim has a record. A founding store without a claim
        starts as the successor of the one that it was.
    """
    records = {
        ordinal: mark for ordinal, claim in data_claims(resource, claims) if (mark := _mark(claim))
    }
    if not records:
        return None
    members = next(iter(records.values()))[0]
    present = {ordinal for ordinal, _claim in data_claims(resource, claims)}
    latest: dict[str, int] = {}
    for _members, numbers in records.values():
        for key, number in numbers.items():
            latest[key] = max(number, latest.get(key, 0))
    founders = {int(member["ordinal"]) for member in members}
    found = {}
    for ordinal in founders | present | {int(key) for key in latest}:
        if ordinal in records:
            number = records[ordinal][1].get(str(ordinal), 0)
        elif ordinal in present:
            number = latest.get(str(ordinal), 0)
        else:
            number = latest.get(str(ordinal), 0) + 1
        if number:
            found[str(ordinal)] = number
    return {"bootstrap": members, "incarnations": found}


def marks(resource: Resource, claims: Iterable[Claim], decided: LogSetObserved) -> list[Manifest]:
    """Return the patches that record on claims what was decided, if these are as they were read.

    Args:
        resource: the LogSet as it is in the cluster, with what is recorded on it.
        claims: the live claims with its labels.
        decided: members and incarnations as they were when the claims were seen. The claim of a
            store that is being replaced still belongs to the one before, and that of one that left
            may be gone by now.
    """
    repair = recorded(resource)
    old = set(repair.claims.values()) if repair else set()
    old.update(*(store.claims.values() for store in left_stores(resource)))
    text = {
        names.ANNOTATION_BOOTSTRAP: _text(decided.get("bootstrap") or []),
        names.ANNOTATION_INCARNATIONS: _text(decided.get("incarnations") or {}),
        names.ANNOTATION_SHARED_STORAGE: storage_of(resource),
    }
    return [
        _patch(claim, text)
        for _ordinal, claim in data_claims(resource, claims)
        if claim["metadata"].get("uid") not in old and not _carries(claim, text)
    ]


def storage_marks(resource: Resource, claims: Iterable[Claim]) -> list[Manifest]:
    """Return the patches that record on claims without a record where the data are.

    Args:
        resource: the LogSet of a playbook, which has no record of its own.
        claims: the live claims with its labels.

    Raises:
        InvalidSpec: the path of a bucket cannot be read.
    """
    text = {names.ANNOTATION_SHARED_STORAGE: storage_of(resource)}
    found = data_claims(resource, claims)
    return [_patch(claim, text) for _ordinal, claim in found if not recorded_storage(claim)]


def recorded_storage(claim: Claim) -> str:
    """Return where the data are that the log on a claim belongs to; empty if that is unknown."""
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(names.ANNOTATION_SHARED_STORAGE) or "")


def storage_of(resource: Resource) -> str:
    """Return the shared storage of a LogSet as its claims record it.

    The server of a bucket is no part of it: data move with their bucket.

    Args:
        resource: the LogSet.

    Returns:
        ``s3://<bucket>/<prefix>``, or ``file://<path>`` with the volume there as JSON, if any.

    Raises:
        InvalidSpec: the path of a bucket cannot be read.
    """
    storage = Fields("spec", resource.get("spec") or {}).table("sharedStorage")
    if storage.raw("s3") is not None:
        bucket, prefix = bucket_and_prefix(storage.table("s3"))
        return f"s3://{bucket}/{prefix}"
    files = storage.table("fileSystem")
    volume = files.raw("volume")
    text = f" {json.dumps(volume, separators=(',', ':'), sort_keys=True)}" if volume else ""
    return f"file://{files.text('path')}{text}"


def data_claims(resource: Resource, claims: Iterable[Claim]) -> list[tuple[int, Claim]]:
    """Return the claims of data volumes that stay, with the ordinals of their stores."""
    base = names.base_name(names.LOG_SET, resource["metadata"]["name"])
    pattern = re.compile(rf"{re.escape(names.VOLUME_DATA)}-{re.escape(base)}-(\d+)")
    found = []
    for claim in claims:
        metadata = claim["metadata"]
        match = pattern.fullmatch(metadata["name"])
        if match and not metadata.get("deletionTimestamp"):
            found.append((int(match[1]), claim))
    return sorted(found, key=lambda pair: pair[0])


def _mark(claim: Claim) -> tuple[list[BootstrapMember], dict[str, int]] | None:
    """Read members and incarnations from a claim; None if it tells nothing that can be read."""
    annotations = claim["metadata"].get("annotations") or {}
    try:
        members: list[BootstrapMember] = [
            {"ordinal": int(one["ordinal"]), "replicaId": int(one["replicaId"])}
            for one in json.loads(annotations.get(names.ANNOTATION_BOOTSTRAP) or "[]")
        ]
        numbers = json.loads(annotations.get(names.ANNOTATION_INCARNATIONS) or "{}")
        incarnations = {str(int(key)): int(number) for key, number in numbers.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return (members, incarnations) if members else None


def _carries(claim: Claim, text: Mapping[str, str]) -> bool:
    annotations = claim["metadata"].get("annotations") or {}
    return all(annotations.get(key) == value for key, value in text.items())


def _patch(claim: Claim, text: Mapping[str, str]) -> Manifest:
    place = {key: claim["metadata"][key] for key in ("name", "namespace")}
    metadata = {**place, **as_seen(claim), "annotations": dict(text)}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
