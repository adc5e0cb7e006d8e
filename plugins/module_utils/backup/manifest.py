# SPDX-License-Identifier: Apache-2.0
"""The record of a backup: ``matrixone-backup.json``, written last, when the backup is proven whole.

A folder without it holds no backup, whatever else it holds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..api import timestamps
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from .errors import InvalidManifest

FILE: Final = "matrixone-backup.json"
FORMAT_VERSION: Final = 1
FULL: Final = "full"
INCREMENTAL: Final = "incremental"
TYPES: Final = (FULL, INCREMENTAL)
LARGEST: Final = 64 * 1024
"""Bytes that a record may have; a larger object of that name is none."""


@dataclass(frozen=True, slots=True)
class Base:
    """The backup that an incremental one continues.

    Attributes:
        path: its address, ``<bucket>/<prefix>`` or a folder.
        id: its id; what stands at the path must have it.
    """

    path: str
    id: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What was backed up: a MatrixOneCluster or a CNSet, in its Kubernetes cluster of that time.

    Attributes:
        kind: of the resource.
        namespace: of the resource.
        name: of the resource.
        uid: of the resource, which no later one of its name has; empty where that is not known.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup that was proven whole.

    Attributes:
        id: of this backup, unique for all time.
        type: ``full`` or ``incremental``.
        timestamp: MatrixOne's own time of the snapshot, as ``tae_sum`` has it; the next incremental
            backup begins there.
        base: for an incremental one.
        source: what was backed up.
        started_at: RFC 3339; rows that were acknowledged before are in the backup.
        completed_at: RFC 3339, when it was proven whole.
        size: bytes of the files in this folder, without those of the base.
        files: number of these files.
        matrixone_version: of the database.
    """

    id: str
    type: str
    timestamp: str
    base: Base | None
    source: Origin
    started_at: str
    completed_at: str
    size: int
    files: int
    matrixone_version: str


def to_document(manifest: Manifest) -> dict[str, Any]:
    """Return the fields as they stand in the record."""
    document: dict[str, Any] = {
        "formatVersion": FORMAT_VERSION,
        "id": manifest.id,
        "type": manifest.type,
        "timestamp": manifest.timestamp,
    }
    if manifest.base:
        document["base"] = {"path": manifest.base.path, "id": manifest.base.id}
    source = manifest.source
    return document | {
        "source": {
            "kind": source.kind,
            "namespace": source.namespace,
            "name": source.name,
            **({"uid": source.uid} if source.uid else {}),
        },
        "startedAt": manifest.started_at,
        "completedAt": manifest.completed_at,
        "size": manifest.size,
        "files": manifest.files,
        "matrixoneVersion": manifest.matrixone_version,
    }


def to_json(manifest: Manifest) -> str:
    """Return the record as one line."""
    return json.dumps(to_document(manifest), separators=(",", ":"), ensure_ascii=False)


def from_json(text: str | bytes) -> Manifest:
    """Read a record.

    Raises:
        InvalidManifest: it is none, or one of a later format.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidManifest(f"{FILE} is not JSON: {error}") from error
    return from_document(document)


def from_document(document: Any) -> Manifest:
    """Read the fields of a record; fields that this release does not know are ignored.

    Raises:
        InvalidManifest: it is none, or one of a later format.
    """
    if not isinstance(document, Mapping):
        raise InvalidManifest(f"{FILE} is not an object")
    fields = Fields("", document)
    try:
        version = fields.number("formatVersion")
        if version != FORMAT_VERSION:
            raise InvalidManifest(
                f"{FILE} has format {version}; this release reads format {FORMAT_VERSION}"
            )
        return _manifest_of(fields)
    except (InvalidSpec, ValueError) as error:
        raise InvalidManifest(f"{FILE}: {error}") from error


def _manifest_of(fields: Fields) -> Manifest:
    kind = fields.choice("type", TYPES, "")
    base = fields.table("base")
    if (kind == INCREMENTAL) != bool(base.data):
        raise fields.refuse("base", "must be set for an incremental backup, and for no other")
    source = fields.table("source")
    return Manifest(
        id=fields.required_text("id"),
        type=kind,
        timestamp=fields.required_text("timestamp"),
        base=Base(base.required_text("path"), base.required_text("id")) if base.data else None,
        source=Origin(
            source.text("kind"), source.text("namespace"), source.text("name"), source.text("uid")
        ),
        started_at=_time(fields, "startedAt"),
        completed_at=_time(fields, "completedAt"),
        size=fields.number("size") or 0,
        files=fields.number("files") or 0,
        matrixone_version=fields.text("matrixoneVersion"),
    )


def _time(fields: Fields, name: str) -> str:
    text = fields.required_text(name)
    timestamps.unix_time(text)
    return text
