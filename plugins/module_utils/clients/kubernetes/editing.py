# SPDX-License-Identifier: Apache-2.0
"""Read, change and delete objects that exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from ...api import names
from ...api.comparing import differing_paths
from .errors import ApiError, Conflict, NotFound, Outdated
from .kinds import collection_path, describe, object_path
from .lists import listed
from .outcomes import Change, Outcome, outcome_of
from .session import MERGE_PATCH, Session

FIELD_MANAGER = names.FIELD_MANAGER
_NOBODY: Final = "00000000-0000-0000-0000-000000000000"
"""The uid of no object."""


@contextmanager
def outdated_where_seen(manifest: Mapping[str, Any]) -> Iterator[None]:
    """Tell that an object was changed from other conflicts.

    Raises:
        Outdated: the manifest names the version that was seen, and the object has another one.
    """
    try:
        yield
    except Conflict as error:
        if not manifest["metadata"].get("resourceVersion"):
            raise
        message = f"{error}; it was changed since this was decided"
        raise Outdated(message, error.status, error.reason, error.fields) from error


@dataclass(frozen=True, slots=True)
class Editor:
    """How objects that exist are changed.

    Attributes:
        session: connection to the API server.
        field_manager: owner of the fields that are set.
        dry_run: let the server validate and default, but keep nothing.
    """

    session: Session
    field_manager: str = FIELD_MANAGER
    dry_run: bool = False

    def get(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the live object of the same identity, or None.

        Raises:
            ApiError: the server refuses, or does not answer with an object.
        """
        path, attempt = object_path(self.session, manifest), f"get {describe(manifest)}"
        try:
            found: dict[str, Any] = self.session.request("GET", path, attempt=attempt)
        except NotFound:
            return None
        if not isinstance(found.get("metadata"), dict):
            raise ApiError(f"{attempt}: the answer is no object", 200, "", [])
        return found

    def latest(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the live object as the API server has it at this moment, or None.

        An operator's proxy answers `get` from its caches, but no list with this selector.
        """
        metadata, kind = manifest["metadata"], manifest["kind"]
        identity = {"apiVersion": manifest["apiVersion"], "kind": kind}
        found = listed(
            self.session,
            collection_path(self.session, identity["apiVersion"], kind, metadata.get("namespace")),
            attempt=f"get {describe(manifest)}",
            query={"fieldSelector": f"metadata.name={metadata['name']}"},
        )
        for item in found:
            if item["metadata"]["name"] == metadata["name"]:
                return {**identity, **item}
        return None

    def patch(self, manifest: Mapping[str, Any]) -> Outcome:
        """Set the given fields of an existing object and leave everything else alone.

        Args:
            manifest: with ``metadata.resourceVersion`` only while the object has that one.

        Raises:
            Outdated: it has another one.
            ApiError: the server refuses, or there is no such object.
        """
        title = describe(manifest)
        before = self.get(manifest)
        if before is not None and not list(differing_paths(before, manifest)):
            return Outcome(title, Change.UNCHANGED, before, before)
        with outdated_where_seen(manifest):
            after: Mapping[str, Any] = self.session.request(
                "PATCH",
                object_path(self.session, manifest),
                attempt=f"change {title}",
                query=self._query(
                    {"fieldManager": self.field_manager, "fieldValidation": "Strict"}
                ),
                body=manifest,
                content_type=MERGE_PATCH,
            )
        return outcome_of(title, before or {}, after)

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

    def free(self, live: Mapping[str, Any]) -> Outcome:
        """Take all owners off an object, so that it goes with none of them.

        Raises:
            ApiError: the server refuses.
        """
        if live["metadata"].get("ownerReferences"):
            return Outcome(describe(live), Change.CHANGED, live, self._disown(live))
        return Outcome(describe(live), Change.UNCHANGED, live, live)

    def leave_to_garbage_collector(self, live: Mapping[str, Any]) -> Outcome:
        """Let Kubernetes delete an object: operators may not delete Secrets themselves.

        It deletes what has owners of which none exists; this names one that does not, an object of
        the same name with another uid.

        Raises:
            Outdated: the object has changed meanwhile.
            ApiError: the server refuses.
        """
        identity = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
        seen = {key: live["metadata"][key] for key in ("namespace", "name", "resourceVersion")}
        owner = {**identity, "name": seen["name"], "uid": _NOBODY}
        self.patch({**identity, "metadata": {**seen, "ownerReferences": [owner]}})
        return Outcome(describe(live), Change.DELETED, live, None)

    def _disown(self, live: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an object without owners."""
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

    def _query(self, query: dict[str, str]) -> dict[str, str]:
        return {**query, "dryRun": "All"} if self.dry_run else query
