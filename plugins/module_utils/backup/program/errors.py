# SPDX-License-Identifier: Apache-2.0
"""How a task fails: with a reason for programs and a message for people."""

from __future__ import annotations

from typing import Final

from ...clients.objectstore import errors as store
from ...location.errors import InvalidLocation
from ...ownership import errors as ownership
from ..errors import BackupError
from ..task.tasks import RETRYABLE, Reason


class TaskFailed(Exception):
    """A task cannot be carried out.

    Attributes:
        reason: of the closed list.
        retryable: whether the same task may succeed later.
    """

    def __init__(self, reason: Reason, message: str, *, retryable: bool | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retryable = reason in RETRYABLE if retryable is None else retryable


def as_failure(error: Exception) -> TaskFailed:
    """Return an error of a store or of a document as the failure that it means."""
    if isinstance(error, TaskFailed):
        return error
    if isinstance(error, ownership.OwnershipError):
        # The other attempt may end without a result; the next one of this Job finds out.
        again = not isinstance(error, ownership.Foreign)
        return TaskFailed(Reason.TARGET_NOT_EMPTY, str(error), retryable=again)
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return TaskFailed(reason, str(error))
    # What nobody foresaw may pass; the name of the error tells where to look, its text may not.
    return TaskFailed(Reason.INTERRUPTED, f"unexpected {type(error).__name__}; see the Pod's log")


_REASONS: Final[dict[type[Exception], Reason]] = {
    store.Absent: Reason.OBJECT_MISSING,
    store.StoreAbsent: Reason.TARGET_MISSING,
    store.Forbidden: Reason.ACCESS_DENIED,
    store.Expired: Reason.CREDENTIALS_EXPIRED,
    store.Unreachable: Reason.UNREACHABLE,
    store.Full: Reason.OUT_OF_SPACE,
    store.StoreError: Reason.INVALID_TASK,
    BackupError: Reason.INVALID_TASK,
    InvalidLocation: Reason.INVALID_TASK,
}
