# SPDX-License-Identifier: Apache-2.0
"""What a shared storage answers when it is asked whether the database can write to it."""

from __future__ import annotations

from enum import StrEnum


class StorageAnswer(StrEnum):
    """One answer. Nothing of what the server said is kept: users name the server."""

    SILENT = "silent"
    """It did not answer in time, or only with errors of a server."""
    ANSWERS = "answers"
    """It answers; whether it would store something is not known."""
    WRITABLE = "writable"
    """It took a part of an upload."""
    DENIED = "denied"
    """The credential may not write, or is not known any more."""
    FULL = "full"
    """No space, or no quota, is left."""
    NO_BUCKET = "no bucket"
    """The bucket does not exist."""
    REFUSED = "refused"
    """It answers, but stores nothing, for another reason: its disk is read-only, for example."""
    NOT_ABORTED = "not aborted"
    """The credential may begin an upload, but not abort it: each leaves something behind."""
