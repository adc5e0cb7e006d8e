# SPDX-License-Identifier: Apache-2.0
"""Bring objects to what a manifest says: server-side apply, create once, delete.

What changed is always what the server says (in check mode its dry run): the object before and
the object after, without the server's bookkeeping.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ...api import names
from ...api.comparing import differing_paths
from .adopting import taken_over
from .differences import meaningful
from .errors import ApiError, Conflict, NotFound, Refused, WaitExpired
from .kinds import collection_path, describe, object_path
from .managed import is_applied
from .owning import owner_reference, refuse_foreign, with_owner
from .session import APPLY_PATCH, MERGE_PATCH, Session

Identity = tuple[str, str, str, str]
"""apiVersion, kind, namespace and name of an object."""

FIELD_MANAGER = names.FIELD_MANAGER
_PAUSE = 0.1  # seconds
ANNOTATION_KEEP = "matrixorigin.io/keep"
"""On an object that must outlive its owner: no owner reference, never pruned."""


class Change(StrEnum):
    """What happened to an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One object before and after.

    Attributes:
        title: name of the object for people.
        before: live object beforehand; None if there was none.
        after: object as the server returned it; None if it is gone.
    """

    title: str
    change: Change
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Writer:
    """How objects are written.

    Attributes:
        session: connection to the API server.
        field_manager: owner of the fields that are set.
        force: take fields over that another manager owns.
        dry_run: let the server validate and default, but keep nothing.
        owner: object that owns what is created; only one with a uid can.
        identified_by: labels by which objects that exist are recognized as the owner's; empty to
            take over whatever has the name.
        listed: live objects that are known already; those that are not are asked for.
    """

    session: Session
    field_manager: str = FIELD_MANAGER
    force: bool = True
    dry_run: bool = False
    owner: Mapping[str, Any] | None = None
    identified_by: Collection[str] = ()
    listed: Mapping[Identity, Mapping[str, Any]] = field(default_factory=dict)

    def get(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the live object of the same identity, or None."""
        path = object_path(self.session, manifest)
        try:
            found: dict[str, Any] = self.session.request(
                "GET", path, attempt=f"get {describe(manifest)}"
            )
        except NotFound:
            return None
        return found

    def apply(self, manifest: Mapping[str, Any]) -> Outcome:
        """Apply a manifest: fields that it leaves out are given up, foreign ones stay.

        Raises:
            ApiError: the server refuses; the message names the fields.
            BadManifest: the manifest has no identity.
            Foreign: the object exists and is somebody else's.
        """
        title = describe(manifest)
        wanted = self._owned(manifest)
        before = self._own(manifest, self._before(wanted))
        if before is not None and self.is_in_place(manifest, before):
            return Outcome(title, Change.UNCHANGED, before, before)
        query = {"fieldManager": self.field_manager, "fieldValidation": "Strict"}
        if self.force:
            query["force"] = "true"
        try:
            after: Mapping[str, Any] = self.session.request(
                "PATCH",
                object_path(self.session, wanted),
                attempt=f"apply {title}",
                query=self._query(query),
                body=wanted,
                content_type=APPLY_PATCH,
            )
        except Refused as error:
            raise _explained(error, before, wanted) from error
        except NotFound:
            if not self._namespace_would_come(wanted):
                raise
            after = wanted
        # An operator's proxy names its own as long as it finds it there.
        return _outcome(title, before, self._let_go(after) if keeps(manifest) else after)

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
            return Outcome(title, Change.UNCHANGED, existing, existing)
        except NotFound:
            if not self._namespace_would_come(wanted):
                raise
            after = wanted
        return Outcome(title, Change.CREATED, None, self._kept(after))

    def free(self, live: Mapping[str, Any]) -> Outcome:
        """Take all owners off an object, so that it goes with none of them.

        Raises:
            ApiError: the server refuses.
        """
        if live["metadata"].get("ownerReferences"):
            return Outcome(describe(live), Change.CHANGED, live, self._let_go(live))
        return Outcome(describe(live), Change.UNCHANGED, live, live)

    def _kept(self, live: Mapping[str, Any]) -> Mapping[str, Any]:
        """Let go of an object that is marked to be kept: an operator's proxy names an owner."""
        return self._let_go(live) if keeps(live) else live

    def _let_go(self, live: Mapping[str, Any]) -> Mapping[str, Any]:
        metadata = live["metadata"]
        if not metadata.get("ownerReferences"):
            return live
        if self.dry_run:
            rest = {key: value for key, value in metadata.items() if key != "ownerReferences"}
            return {**live, "metadata": rest}
        place = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
        freed: Mapping[str, Any] = self.session.request(
            "PATCH",
            object_path(self.session, live),
            attempt=f"free {describe(live)} of its owner",
            body={"metadata": {**place, "ownerReferences": []}},
            content_type=MERGE_PATCH,
        )
        return freed

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

    def patch(self, manifest: Mapping[str, Any]) -> Outcome:
        """Set the given fields of an existing object and leave everything else alone.

        Raises:
            ApiError: the server refuses, or there is no such object.
        """
        title = describe(manifest)
        before = self.get(manifest)
        if before is not None and not list(differing_paths(before, manifest)):
            return Outcome(title, Change.UNCHANGED, before, before)
        after: Mapping[str, Any] = self.session.request(
            "PATCH",
            object_path(self.session, manifest),
            attempt=f"change {title}",
            query=self._query({"fieldManager": self.field_manager, "fieldValidation": "Strict"}),
            body=manifest,
            content_type=MERGE_PATCH,
        )
        return _outcome(title, before or {}, after)

    def delete(
        self,
        manifest: Mapping[str, Any],
        propagation: str = "Background",
        *,
        grace_seconds: int | None = None,
        version: str = "",
    ) -> Outcome:
        """Delete an object; one that is gone already, or going, is left alone.

        Args:
            manifest: identity of the object; with ``metadata.uid`` only that very object.
            propagation: ``Background``, ``Foreground`` or ``Orphan``.
            grace_seconds: what a Pod gets to end; 0 removes it at once, even one that is going
                already: nobody then knows whether it still runs.
            version: resourceVersion that the object must still have; empty for any.

        Raises:
            Conflict: the object has another uid or version.
            ApiError: the server refuses.
        """
        title = describe(manifest)
        before = self.get(manifest)
        if before is None:
            return Outcome(title, Change.UNCHANGED, None, None)
        if before["metadata"].get("deletionTimestamp") and grace_seconds is None:
            return Outcome(title, Change.UNCHANGED, before, before)
        uid = (manifest.get("metadata") or {}).get("uid") or before["metadata"]["uid"]
        options: dict[str, Any] = {
            "propagationPolicy": propagation,
            "preconditions": {"uid": uid},
        }
        if version:
            options["preconditions"]["resourceVersion"] = version
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        # With a body, the API server does not look at dryRun in the query.
        if self.dry_run:
            options["dryRun"] = ["All"]
        try:
            self.session.request(
                "DELETE",
                object_path(self.session, manifest),
                attempt=f"delete {title}",
                body={"apiVersion": "v1", "kind": "DeleteOptions", **options},
            )
        except NotFound:
            return Outcome(title, Change.UNCHANGED, None, None)
        return Outcome(title, Change.DELETED, before, None)

    def _own(
        self, manifest: Mapping[str, Any], live: Mapping[str, Any] | None
    ) -> Mapping[str, Any] | None:
        """Return a live object that may be changed; None if there is none."""
        if live is not None and self.identified_by:
            refuse_foreign(manifest, live, self.owner, self.identified_by)
        return live

    def _before(self, manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self.listed.get(identity(manifest)) or self.get(manifest)

    def _query(self, query: dict[str, str]) -> dict[str, str]:
        return {**query, "dryRun": "All"} if self.dry_run else query

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
        identity = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        return self.get(identity) is None


def keeps(manifest: Mapping[str, Any]) -> bool:
    """Tell whether an object is marked to outlive its owner."""
    annotations = (manifest.get("metadata") or {}).get("annotations") or {}
    return bool(annotations.get(ANNOTATION_KEEP) == "true")


def identity(manifest: Mapping[str, Any]) -> Identity:
    """Return what tells an object from all others: apiVersion, kind, namespace and name."""
    metadata = manifest.get("metadata") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return manifest.get("apiVersion") or "", manifest.get("kind") or "", namespace, name


def _outcome(title: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Outcome:
    if before is None:
        return Outcome(title, Change.CREATED, None, after)
    same = meaningful(before) == meaningful(after)
    return Outcome(title, Change.UNCHANGED if same else Change.CHANGED, before, after)


def _explained(
    error: Refused, before: Mapping[str, Any] | None, wanted: Mapping[str, Any]
) -> ApiError:
    """Name the fields that cannot be changed, where the server only says that some can't."""
    if before is None or error.status != 422:
        return error
    vague = [field.lstrip(".") for field in error.fields if field.count(".") <= 0]
    if error.fields and not vague:
        return error
    paths = [
        f"{name}.{path}" if path else name
        for name in vague or ["spec"]
        for path in differing_paths(before.get(name), wanted.get(name))
    ]
    if wanted.get("kind") == "StatefulSet":
        paths = [path for path in paths if path.split(".")[1].split("[")[0] not in _ROLLABLE]
    if not paths:
        return error
    listed = ", ".join(dict.fromkeys(paths))
    return Refused(f"{error}; what differs: {listed}", error.status, error.reason, paths)


_ROLLABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
"""Fields of a StatefulSet's spec that may change after its creation."""
