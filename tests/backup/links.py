# SPDX-License-Identifier: Apache-2.0
"""Backups for tests of chains and retention."""

from datetime import UTC, datetime, timedelta

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.chains import Link

ROOT = "MatrixOneCluster default/mo bucket/backups"
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def link(name, day, *, base="", good=True, pinned=False, **more):
    """Return a backup of the noon of a day, counted from 1 January 2026."""
    at = START + timedelta(days=day)
    given = {"name": name, "id": name, "base": base, "at": at, "good": good, "pinned": pinned}
    return Link(**{**given, "root": ROOT, **more})


def chain(*names):
    """Return backups of one day after the other, each on the one before."""
    return [link(name, day, base=names[day - 1] if day else "") for day, name in enumerate(names)]
