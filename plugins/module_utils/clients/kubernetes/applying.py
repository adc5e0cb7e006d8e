# SPDX-License-Identifier: Apache-2.0
"""Bring objects to what a manifest says: server-side apply, create once, recreate.

What changed is always what the server says (in check mode its dry run): the object before and
the object after, without the server's bookkeeping.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .adopting import taken_over
from .editing import Editor, outdated_where_seen
from .errors import Conflict, NotFound, OwnerDeleted, Refused, WaitExpired
from .kinds import collection_path, describe, object_path
from .managed import is_applied
from .outcomes import Change, Identity, Outcome, identity, keeps, outcome_of
from .owning import owner_reference, refuse_foreign, with_owner
from .refusals import explained
from .session import APPLY_PATCH, MERGE_PATCH

_PAUSE = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class Writer(Editor):
    """How objects are written.

    Attributes:
        force: take fields over that another manager owns.
        owner: object that owns what is created; only one with a uid can.
        identified_by: labels by which objects that exist are recognized as the owner's; empty to
            take over whatever has the name.
        listed: live objects that are known already; those that are not are asked for.
    """

    force: bool = True
    owner: Mapping[str, Any] | None = None
    identified_by: Collection[str] = ()
    listed: Mapping[Identity, Mapping[str, Any]] = field(default_factory=dict)

    def apply(self, manifest: Mapping[str, Any]) -> Outcome:
        """Apply a manifest: fields that it leaves out are given up, foreign ones stay.

        Raises:
            Outdated: the manifest has a resourceVersion, and the object another one.
            ApiError: the server refuses; the message names the fields.
            BadManifest: the manifest has no identity.
            Foreign: the object exists and is somebody else's.
            OwnerDeleted: the object exists without an owner, and the owner is being deleted.
        """
        title = describe(manifest)
        wanted = self._owned(manifest)
        before = self._own(manifest, self._before(wanted))
        if before is not None and self.is_in_place(manifest, before):
            return Outcome(title, Change.UNCHANGED, before, before)
        if before is not None and "ownerReferences" in wanted["metadata"]:
            self._refuse_deleted_owner(title, before)
        query = {"fieldManager": self.field_manager, "fieldValidation": "Strict"}
        if self.force:
            query["force"] = "true"
        try:
            with outdated_where_seen(wanted):
                after: Mapping[str, Any] = self.session.request(
                    "PATCH",
                    object_path(self.session, wanted),
                    attempt=f"apply {title}",
                    query=self._query(query),
                    body=wanted,
                    content_type=APPLY_PATCH,
                )
        except Refused as error:
            raise explained(error, before, wanted) from error
        except NotFound:
            if not self._namespace_would_come(wanted):
                raise
            after = wanted
        # An operator's proxy names its own as long as it finds it there.
        return outcome_of(title, before, self._disown(after) if keeps(manifest) else after)

    def is_in_place(self, manifest: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
        """Tell whether applying a manifest would change nothing; in doubt it would."""
        if keeps(manifest) and live["metadata"].get("ownerReferences"):
            return False
        wanted = self._owned(manifest)
        added = self.session.added.get(object_path(self.session, wanted))
        if added is not None:
            wanted = {**wanted, "metadata": with_owner(wanted["metadata"], added)}
        return is_applied(live, wanted, self.field_manager)

    def create_once(self, manifest: Mapping[str, Any]) -> Outcome:
        """Create an object if there is none of that name; an existing one is left as it is.

        Raises:
            ApiError: the server refuses.
            BadManifest: the manifest has no identity.
            Foreign: the object exists and is somebody else's.
        """
        title = describe(manifest)
        wanted = self._owned(manifest)
        before = self._own(manifest, self._before(wanted))
        if before is not None:
            return Outcome(title, Change.UNCHANGED, before, self._kept(before))
        path = collection_path(
            self.session, wanted["apiVersion"], wanted["kind"], wanted["metadata"].get("namespace")
        )
        query = self._query({"fieldManager": self.field_manager, "fieldValidation": "Strict"})
        try:
            after: Mapping[str, Any] = self.session.request(
                "POST", path, attempt=f"create {title}", query=query, body=wanted
            )
        except Conflict:
            existing = self._own(manifest, self.get(wanted))
            if existing is None:  # in conflict with something else, such as the use of a quota
                raise
            return Outcome(title, Change.UNCHANGED, existing, existing)
        except NotFound:
            if not self._namespace_would_come(wanted):
                raise
            after = wanted
        return Outcome(title, Change.CREATED, None, self._kept(after))

    def _kept(self, live: Mapping[str, Any]) -> Mapping[str, Any]:
        """Release an object that is marked to be kept: an operator's proxy names an owner."""
        return self._disown(live) if keeps(live) else live

    def adopt(self, manifest: Mapping[str, Any], others: Collection[str]) -> None:
        """Take over the fields of an existing object that other managers wrote by updates.

        Raises:
            ApiError: the server refuses, or the object was changed meanwhile.
            Foreign: the object is somebody else's.
        """
        live = self._own(manifest, self.get(manifest))
        entries = None if live is None else taken_over(live, others, self.field_manager)
        if live is None or entries is None:
            return
        version = live["metadata"]["resourceVersion"]
        self.session.request(
            "PATCH",
            object_path(self.session, manifest),
            attempt=f"change {describe(manifest)}",
            query=self._query({}),
            body={"metadata": {"managedFields": entries, "resourceVersion": version}},
            content_type=MERGE_PATCH,
        )

    def recreate(self, manifest: Mapping[str, Any], wait: float) -> Outcome:
        """Replace an object, and leave what depends on it alone.

        Args:
            manifest: the object as it shall be.
            wait: seconds that the old one may take to go.

        Raises:
            ApiError: the server refuses.
            Foreign: the object is somebody else's.
            WaitExpired: the old object does not go.
        """
        title = describe(manifest)
        before = self._own(manifest, self.get(manifest))
        if self.dry_run:
            return Outcome(title, Change.CHANGED, before, manifest)
        self.delete(manifest, "Orphan")
        deadline = time.monotonic() + wait
        while self.get(manifest) is not None:
            if time.monotonic() > deadline:
                raise WaitExpired(f"replace {title}: the old one is still there after {wait:g} s")
            time.sleep(_PAUSE)
        outcome = replace(self, listed={}).apply(manifest)
        return Outcome(title, Change.CHANGED, before, outcome.after)

    def _own(
        self, manifest: Mapping[str, Any], live: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        """Return a live object that may be changed; None if there is none."""
        if live is not None and self.identified_by:
            refuse_foreign(manifest, live, self.owner, self.identified_by)
        return live

    def _refuse_deleted_owner(self, title: str, live: Mapping[str, Any]) -> None:
        """Refuse to make an object, which has no owner, go with one that is being deleted.

        It lost its owner when that was deleted without its dependents. Kubernetes' own controllers
        ask the API server the same before they adopt (RecheckDeletionTimestamp in
        pkg/controller/controller_ref_manager.go).

        Raises:
            OwnerDeleted: the owner is being deleted, is gone, or was replaced.
        """
        if self.owner is None or self.dry_run or live["metadata"].get("ownerReferences"):
            return
        metadata = (self.latest(self.owner) or {"metadata": {}})["metadata"]
        is_same = metadata.get("uid") == self.owner["metadata"]["uid"]
        if not is_same or metadata.get("deletionTimestamp"):
            raise OwnerDeleted(
                f"apply {title}: it has no owner, and {describe(self.owner)} is being deleted"
            )

    def _before(self, manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.listed.get(identity(manifest)) or self.get(manifest)

    def _owned(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Add the owner reference, when owner and object may be related that way."""
        metadata = dict(manifest.get("metadata") or {})
        reference = owner_reference(self.owner, metadata.get("namespace"))
        if keeps(manifest):
            reference = None
        others = [
            entry
            for entry in metadata.get("ownerReferences") or []
            if reference is None or entry.get("uid") != reference["uid"]
        ]
        if reference is not None:
            metadata["ownerReferences"] = [*others, reference]
        return {**manifest, "metadata": metadata}

    def _namespace_would_come(self, wanted: Mapping[str, Any]) -> bool:
        """Tell whether a dry run failed only because an earlier object was not really made."""
        namespace = wanted["metadata"].get("namespace")
        if not self.dry_run or not namespace:
            return False
        parent = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        return self.get(parent) is None
