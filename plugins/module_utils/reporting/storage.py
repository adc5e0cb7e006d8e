# SPDX-License-Identifier: Apache-2.0
"""Whether the object store answers the operator and takes what it writes, as it does the database.

The operator may never be able to reach it, for example where only the database's network can, and a
store may refuse by the address of who asks. So its silence counts only after an answer, and its
refusal after it took something, which the conditions record. A shared folder is written by a Pod of
its own, and answers nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names
from ..api.storage_answer import StorageAnswer
from .conditions import Condition, condition, find
from .reasons import ConditionType, Reason

_ANSWERS: Final = "the object store answers"
_WRITABLE: Final = "the object store takes what is written"
_FOLDER_WRITABLE: Final = "files can be written to the shared folder"
_FOLDER_REFUSES: Final = (
    "no file can be written to the shared folder (the log of Deployment {} says why)"
)
_CONSEQUENCE: Final = (
    "small transactions are committed to the log service, but large inserts and checkpoints fail "
    "or wait"
)
_SILENT: Final = "the object store does not answer the operator"
_CURRENT: Final = "the log stores have started with the present keys of the object store"
_NOT_ABORTED: Final = (
    "whether the object store takes what is written is not asked any more: the credential may "
    "begin an upload, but not abort it (s3:AbortMultipartUpload)"
)
_REFUSALS: Final = {
    StorageAnswer.DENIED: (
        Reason.ACCESS_DENIED,
        "the object store does not let the credential of the LogSet write",
    ),
    StorageAnswer.FULL: (
        Reason.STORAGE_FULL,
        "no space, or no quota, is left in the object store",
    ),
    StorageAnswer.NO_BUCKET: (Reason.BUCKET_NOT_FOUND, "the bucket does not exist any more"),
    StorageAnswer.REFUSED: (
        Reason.WRITES_REFUSED,
        "the object store answers, but does not store what is written",
    ),
}


def storage_conditions(
    resource: Mapping[str, Any], answer: StorageAnswer | None, generation: int
) -> list[Condition]:
    """Return the conditions of the object store, without those of which nothing is known yet.

    Args:
        resource: a set with its conditions so far.
        answer: what the object store answered now; None where it was not asked.
        generation: of the set.
    """
    if _has_folder(resource):
        folder = _folder_writable(resource, answer, generation)
        return [folder] if folder else []
    both = (_reachable(resource, answer, generation), _writable(resource, answer, generation))
    return [one for one in both if one]


def credential_conditions(
    resource: Mapping[str, Any], outdated: str | None, generation: int
) -> list[Condition]:
    """Return whether the Pods have the present keys of the object store, once they had former ones.

    Args:
        resource: a set with its conditions so far.
        outdated: see `Health.credential`.
        generation: of the set.
    """
    kind = ConditionType.STORAGE_CREDENTIAL_CURRENT
    before = find(resource, kind)
    if outdated:
        reason = Reason.STORAGE_CREDENTIAL_CHANGED
        return [condition(kind, False, reason, outdated, generation)]
    if outdated is None:
        again = _again(before, generation)
        return [again] if again else []
    reason = Reason.STORAGE_CREDENTIAL_IN_USE
    return [condition(kind, True, reason, _CURRENT, generation)] if before else []


def _has_folder(resource: Mapping[str, Any]) -> bool:
    return bool(((resource.get("spec") or {}).get("sharedStorage") or {}).get("fileSystem"))


def _folder_writable(
    resource: Mapping[str, Any], answer: StorageAnswer | None, generation: int
) -> Condition | None:
    """Return what the Pod that writes tells; it may never have been able to run."""
    kind = ConditionType.STORAGE_WRITABLE
    before = find(resource, kind)
    if answer is StorageAnswer.WRITABLE:
        return condition(kind, True, Reason.WRITES_ACCEPTED, _FOLDER_WRITABLE, generation)
    if answer is None or not before:
        return _again(before, generation)
    base = names.base_name(names.LOG_SET, resource["metadata"]["name"])
    message = _with_consequence(_FOLDER_REFUSES.format(names.storage_check_name(base)))
    return condition(kind, False, Reason.WRITES_REFUSED, message, generation)


def _reachable(
    resource: Mapping[str, Any], answer: StorageAnswer | None, generation: int
) -> Condition | None:
    kind = ConditionType.STORAGE_REACHABLE
    before = find(resource, kind)
    if answer is None:
        return _again(before, generation)
    if answer is not StorageAnswer.SILENT:
        return condition(kind, True, Reason.STORAGE_ANSWERS, _ANSWERS, generation)
    if not before:
        return None
    return condition(
        kind, False, Reason.STORAGE_UNREACHABLE, _with_consequence(_SILENT), generation
    )


def _writable(
    resource: Mapping[str, Any], answer: StorageAnswer | None, generation: int
) -> Condition | None:
    kind = ConditionType.STORAGE_WRITABLE
    before = find(resource, kind)
    if answer is StorageAnswer.WRITABLE:
        return condition(kind, True, Reason.WRITES_ACCEPTED, _WRITABLE, generation)
    if answer is StorageAnswer.NOT_ABORTED:
        return condition(kind, None, Reason.UPLOAD_NOT_ABORTED, _NOT_ABORTED, generation)
    if not before or is_not_asked(resource):
        return _again(before, generation)
    if answer is StorageAnswer.SILENT:
        return condition(kind, None, Reason.STORAGE_UNREACHABLE, _SILENT, generation)
    if answer in _REFUSALS:
        reason, message = _REFUSALS[answer]
        return condition(kind, False, reason, _with_consequence(message), generation)
    return _again(before, generation)


def is_not_asked(resource: Mapping[str, Any]) -> bool:
    """Return whether a set's object store shall not be asked to take something.

    Each question would leave an unfinished upload behind. A change of the spec, which names the
    credential, has it asked once more.
    """
    found = find(resource, ConditionType.STORAGE_WRITABLE)
    present = (resource.get("metadata") or {}).get("generation")
    is_present = found.get("observedGeneration") == present
    return found.get("reason") == Reason.UPLOAD_NOT_ABORTED.value and is_present


def storage_fault(
    resource: Mapping[str, Any], answer: StorageAnswer | None
) -> tuple[Reason, str] | None:
    """Return what is wrong with the object store of a set; None if nothing is known to be."""
    for one in storage_conditions(resource, answer, 0):
        if one["status"] == "False":
            is_silent = one["type"] == ConditionType.STORAGE_REACHABLE.value
            reason = Reason.STORAGE_UNREACHABLE if is_silent else Reason.STORAGE_NOT_WRITABLE
            return reason, one["message"]
    return None


def is_storage_as_reported(
    resource: Mapping[str, Any], answer: StorageAnswer | None, outdated: str | None
) -> bool:
    """Return whether a status would say of the object store what the present one does."""
    kinds = (
        ConditionType.STORAGE_REACHABLE,
        ConditionType.STORAGE_WRITABLE,
        ConditionType.STORAGE_CREDENTIAL_CURRENT,
    )
    before = [find(resource, kind) for kind in kinds]
    present = [
        *storage_conditions(resource, answer, 0),
        *credential_conditions(resource, outdated, 0),
    ]
    return _told(one for one in before if one) == _told(present)


def _told(conditions: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["type"], one["status"], one.get("reason") or "") for one in conditions]


def _again(before: Mapping[str, Any], generation: int) -> Condition | None:
    """Return a condition as it was; None if there was none."""
    if not before:
        return None
    kept = {name: before.get(name, "") for name in ("type", "status", "reason", "message")}
    return {**kept, "observedGeneration": generation}


def _with_consequence(message: str) -> str:
    return f"{message}: {_CONSEQUENCE}"
