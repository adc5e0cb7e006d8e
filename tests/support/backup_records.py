# SPDX-License-Identifier: Apache-2.0
"""Records of backups, as the program writes them beside the data and into its result."""

from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest


def backup_record(identity: str, **special: Any) -> manifest.Manifest:
    """Return the record of a whole backup of two files that took seconds.

    Args:
        identity: of the backup.
        special: fields that differ.
    """
    fields = {
        "type": "full",
        "timestamp": "1-0",
        "base": None,
        "source": manifest.Origin("MatrixOneCluster", "prod", "mo"),
        "started_at": "2026-11-22T18:00:00Z",
        "completed_at": "2026-11-22T18:00:05Z",
        "size": 2048,
        "files": 2,
        "matrixone_version": "1.3.0",
    }
    return manifest.Manifest(id=identity, **{**fields, **special})
