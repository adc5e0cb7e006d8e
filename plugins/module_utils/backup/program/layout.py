# SPDX-License-Identifier: Apache-2.0
"""Which objects below the target of a backup are its own: what MatrixOne and this program write."""

from __future__ import annotations

import re
from typing import Final

from ...ownership.marks import EARLIER_ATTEMPT
from ...ownership.neighbours import BACKUP_FOLDERS
from .. import manifest as manifests
from . import listings

EARLIER: Final = EARLIER_ATTEMPT
_FILES: Final = frozenset(
    {
        listings.META,
        f"{listings.META}{listings.CHECKSUM_SUFFIX}",
        listings.OWN_SUMS,
        manifests.FILE,
        EARLIER,
        "",  # what some tools create for a folder of a bucket
    }
)
_UNFINISHED: Final = re.compile(r"\.tmp\.\d+|\.matrixone-[0-9a-f]{16}")
"""Files that MatrixOne (``local_fs.go``) and this program rename when they are written."""


def is_of_backup(key: str) -> bool:
    """Return whether an object is a part of the backup in whose folder it is."""
    folder, slash, _rest = key.partition("/")
    if slash:
        return folder in BACKUP_FOLDERS
    return key in _FILES or _UNFINISHED.fullmatch(key) is not None
