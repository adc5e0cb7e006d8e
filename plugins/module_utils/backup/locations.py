# SPDX-License-Identifier: Apache-2.0
"""Moved to ``location.locations``; for imports that have not followed yet."""

from __future__ import annotations

from ..location.locations import (
    SOURCE,
    TARGET,
    TYPES,
    FolderLocation,
    Location,
    S3Location,
    are_on_one_server,
    from_document,
    from_fields,
    overlap,
    to_document,
)

__all__ = [
    "SOURCE",
    "TARGET",
    "TYPES",
    "FolderLocation",
    "Location",
    "S3Location",
    "are_on_one_server",
    "from_document",
    "from_fields",
    "overlap",
    "to_document",
]
