# SPDX-License-Identifier: Apache-2.0
"""Find objects by label and owner, remove those nobody wants, wait until objects are gone."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .applying import Writer
from .errors import Conflict, NotFound
from .kinds import collection_path, describe
from .lists import listed
from .outcomes import Change, Outcome, identity, keeps
from .session import Session

_PAGE = "500"
_FIRST_PAUSE = 0.1  # seconds
_LONGEST_PAUSE = 2.0  # seconds
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects are meant.

    Attributes:
        api_version: e.g. ``apps/v1``.
        kind: e.g. ``StatefulSet``.
        namespace: None for all namespaces.
        labels: labels that an object must have.
        excluding: label values that an object must not have, by label.
        owner_uid: uid that must be among an object's owners; empty for any.
        unowned: whether objects that somebody owns are left out.
        named: regular expression that the whole name matches; empty for any. It says whose an
            object is, so that its owners do not count.
        having: labels that an object must have, with any value.
    """

    api_version: str
    kind: str
    namespace: str | None
    labels: Mapping[str, str]
    excluding: Mapping[str, Iterable[str]] = field(default_factory=dict)
    owner_uid: str = ""
    unowned: bool = False
    named: str = ""
    having: Iterable[str] = ()

    def list(self, session: Session) -> list[dict[str, Any]]:
        """Return the objects, with apiVersion and kind; none if the cluster lacks the kind.

        Raises:
            ApiError: the server refuses, or does not answer with a list.
        """
        query = {"limit": _PAGE}
        selector = [f"{key}={value}" for key, value in sorted(self.labels.items())]
        selector += [
            f"{key} notin ({','.join(values)})" for key, values in sorted(self.excluding.items())
        ]
        selector += sorted(self.having)
        if selector:
            query["labelSelector"] = ",".join(selector)
        try:
            path = collection_path(session, self.api_version, self.kind, self.namespace)
            found = listed(session, path, attempt=f"list {self.kind}s", query=query)
        except NotFound:
            return []
        return [entry for entry in map(self._typed, found) if self._owned(entry)]

    def _typed(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {"apiVersion": self.api_version, "kind": self.kind, **entry}

    def _owned(self, entry: Mapping[str, Any]) -> bool:
        owners = entry["metadata"].get("ownerReferences") or []
        if self.named:
            return re.fullmatch(self.named, entry["metadata"]["name"]) is not None
        if self.unowned:
            return not owners
        return not self.owner_uid or any(owner["uid"] == self.owner_uid for owner in owners)


def prune(
    writer: Writer,
    candidates: Iterable[Mapping[str, Any]],
    wanted: Iterable[Mapping[str, Any]],
    users: Iterable[Selection] = (),
    propagation: str = "Background",
) -> list[Outcome]:
    """Delete those of some live objects that are neither wanted, nor marked to be kept, nor in use.

    Args:
        writer: deletes; honours its dry run.
        candidates: live objects, as selections have listed them.
        wanted: manifests that stay.
        users: objects that keep alive every other object whose name they mention; they are only
            fetched when there is something to delete.
        propagation: how dependents of the deleted objects go.

    Returns:
        One outcome per object that is (or would be) deleted now.
    """
    stay = {identity(manifest) for manifest in wanted}
    doomed = [found for found in candidates if identity(found) not in stay and not _kept(found)]
    if not doomed:
        return []
    used = {
        text for chosen in users for found in chosen.list(writer.session) for text in _texts(found)
    }
    return [
        _deleted(writer, found, propagation)
        for found in doomed
        if found["metadata"]["name"] not in used
    ]


def _deleted(writer: Writer, doomed: Mapping[str, Any], propagation: str) -> Outcome:
    """Delete an object as long as it is the one that was chosen: same labels, same owners.

    A list may come from a cache that does not know yet that somebody has released the object, as
    the garbage collector does when an owner is deleted without its dependents. Deleting that very
    version only is what tells; one that merely got another status is read anew and deleted.
    """
    title, pause = describe(doomed), _FIRST_PAUSE
    seen: Mapping[str, Any] | None = doomed
    for _attempt in range(_ATTEMPTS):
        if seen is None or _kept(seen) or _belonging(seen) != _belonging(doomed):
            return Outcome(title, Change.UNCHANGED, seen, seen)
        try:
            return writer.delete(seen, propagation, version=seen["metadata"]["resourceVersion"])
        except Conflict as error:
            refusal = error
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        seen = writer.get(doomed)
    raise refusal


def _belonging(found: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what selections choose by: which object it is, its labels and its owners."""
    metadata = found["metadata"]
    owners = sorted(owner["uid"] for owner in metadata.get("ownerReferences") or [])
    return metadata["uid"], metadata.get("labels") or {}, owners


def _kept(found: Mapping[str, Any]) -> bool:
    return keeps(found) or bool(found["metadata"].get("deletionTimestamp"))


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside an object; whatever it names, it names by one of them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for element in value.values():
            yield from _texts(element)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)


def shortened(listed: list[str]) -> str:
    """Write a list for a message; a long one is cut."""
    more = f" and {len(listed) - 4} more" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more


def wait_until_gone(
    writer: Writer,
    manifests: Iterable[Mapping[str, Any]],
    selections: Iterable[Selection],
    timeout: float,
    report: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """Wait until objects no longer exist.

    Args:
        writer: gives the session.
        manifests: objects by identity.
        selections: further objects, by label and owner.
        timeout: seconds to wait at most.
        report: told what is being waited for, again and again.

    Returns:
        What still exists when the time is over; empty if all is gone.
    """
    deadline = time.monotonic() + timeout
    asked: Sequence[Mapping[str, Any]] = list(manifests)
    watched, pause = list(selections), _FIRST_PAUSE
    while True:
        named = [found for one in asked if (found := writer.get(one)) is not None]
        asked = named
        listed = [found for chosen in watched for found in chosen.list(writer.session)]
        left = list({identity(found): found for found in (*named, *listed)}.values())
        if not left or time.monotonic() + pause > deadline:
            return left
        report(left)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
