# SPDX-License-Identifier: Apache-2.0
"""Remembers which deletions are to leave the dependents alone.

Whoever deletes with ``propagationPolicy: Orphan`` leaves a trace on the object for a moment only:
the garbage collector removes its finalizer as soon as it has released the dependents that it knows.
A play before the deletion that begins later would take the object for one that is deleted with all
that it owns, and would delete what the garbage collector missed: what a run has created, or taken
as its own again, since then.
"""

from collections.abc import Mapping
from typing import Any

from ansible_operator.kube.interface import EventType, Object

ORPHAN = "orphan"
"""The garbage collector's finalizer: `metav1.FinalizerOrphanDependents` of Kubernetes."""


class OrphaningDeletions:
    """Objects of a kind that are being deleted without their dependents; an informer's handler."""

    def __init__(self) -> None:
        self._uids: set[str] = set()

    def __call__(self, event: EventType, _before: Object | None, now: Object) -> None:
        """Remember an object until it is gone."""
        metadata = now["metadata"]
        uid = metadata.get("uid", "")
        if event is EventType.DELETED:
            self._uids.discard(uid)
        elif uid and metadata.get("deletionTimestamp") and ORPHAN in _finalizers(metadata):
            self._uids.add(uid)

    def as_requested(self, obj: Object) -> Object:
        """Return an object with the finalizer `ORPHAN` if its deletion was requested with it."""
        metadata = obj["metadata"]
        finalizers = _finalizers(metadata)
        if metadata.get("uid") not in self._uids or ORPHAN in finalizers:
            return obj
        return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, ORPHAN]}}


def _finalizers(metadata: Mapping[str, Any]) -> list[str]:
    return metadata.get("finalizers") or []
