# SPDX-License-Identifier: Apache-2.0
"""The record of an upgrade, ``status.upgrade`` of a MatrixOneCluster: its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Record = Mapping[str, Any]

HELD: Final = "Held"
UPDATING: Final = "Updating"
CATALOG: Final = "UpgradingCatalog"
COMPLETED: Final = "Completed"
CANCELED: Final = "Canceled"
UNFINISHED: Final = frozenset({UPDATING, CATALOG})
"""Phases in which components have been changed, and the upgrade has not ended."""
AHEAD: Final = "Ahead"
PASSED: Final = "Passed"
"""Where the point of no return is."""
CANARY_WAITING: Final = "Waiting"
CANARY_ANSWERING: Final = "Answering"
CANARY_PASSED: Final = "Passed"
"""What became of the first compute node of the new version."""


def way_back(record: Record) -> str:
    """Return how to get back to the version of before."""
    backup = record.get("backup")
    if not backup:
        return "the way back is a backup, restored into a new cluster of the version before"
    return (
        f"the way back is a new cluster with spec.version: {record.get('from')} and "
        f"spec.restoreFrom: {backup}"
    )
