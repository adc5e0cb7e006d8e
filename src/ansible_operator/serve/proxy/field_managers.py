# SPDX-License-Identifier: Apache-2.0
"""Who has written a version of an object, from its ``managedFields``.

A write that changes nothing is answered with the version that the object has; another writer's, if
it is newer than the version that the cache knows. The API server notes for each manager when it
last wrote which fields, and leaves its note alone if it has written none; a field that another one
writes goes over to that one's note.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_operator.kube.client import USER_AGENT

_LONGEST_MANAGER = 128
"""Characters of a manager's name; the API server cuts the others off."""

_PLACE = ("manager", "operation", "subresource", "apiVersion")


def manager_of(query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """The name under which the API server notes a write, by its own rule.

    Args:
        query: of the request.
        headers: of the request; without a user agent it is forwarded with the operator's.
    """
    named = query.get("fieldManager", "")
    if named:
        return named
    prefix = headers.get("User-Agent", USER_AGENT).partition("/")[0]
    return "".join(char for char in prefix if char.isprintable())[:_LONGEST_MANAGER]


def has_written(manager: str, before: Sequence[Any] | None, after: Sequence[Any] | None) -> bool:
    """Whether a manager's write can have led from one version to another.

    Args:
        manager: of the write.
        before: ``managedFields`` of the version that was known when the write was sent.
        after: ``managedFields`` of the version in its answer.

    Returns:
        False if others alone have changed something, or were the last to, or if it cannot be told:
        fields that nobody has any more may have been removed by anyone, and answers of subresources
        have no notes.
        True if the notes are the same: times are in seconds, and a second write of the same fields
        within one leaves no trace.
    """
    if before and not after:
        return False
    known, answered = _notes(before or ()), _notes(after or ())
    last: dict[str, str] = {}
    for place, (time, fields) in answered.items():
        if place not in known or known[place][0] != time or not _has_all(known[place][1], fields):
            last[place[0]] = max(last.get(place[0], ""), str(time or ""))
    if not last:
        return known == answered
    return manager in last and last[manager] == max(last.values())


def _notes(fields: Sequence[Any]) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """Time and fields of each note, by manager and what else tells notes apart."""
    return {
        tuple(item.get(key) for key in _PLACE): (item.get("time"), item.get("fieldsV1"))
        for item in fields
        if isinstance(item, Mapping)
    }


def _has_all(fields: Any, wanted: Any) -> bool:
    """Whether a set of fields contains another one; they are as deep as objects may be."""
    if not isinstance(fields, Mapping) or not isinstance(wanted, Mapping):
        return bool(fields == wanted)
    return all(key in fields and _has_all(fields[key], item) for key, item in wanted.items())
