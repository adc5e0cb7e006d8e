# SPDX-License-Identifier: Apache-2.0
"""Who owns an object: what a manifest says of it, and what an operator's proxy adds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...api.belonging import belongs
from .errors import Foreign
from .kinds import describe


def owner_reference(
    owner: Mapping[str, Any] | None, namespace: str | None
) -> dict[str, Any] | None:
    """Return the controller reference to an owner, or None where there can be none.

    Args:
        owner: whole object; without ``metadata.uid`` it is not in the cluster.
        namespace: where the dependent lives; it must be the owner's namespace.
    """
    metadata = (owner or {}).get("metadata") or {}
    if owner is None or not metadata.get("uid"):
        return None
    if metadata.get("namespace") and metadata["namespace"] != namespace:
        return None
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_owner(metadata: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's metadata as a proxy sends it on: with an owner that it did not name."""
    result = dict(metadata)
    known = {entry.get("uid") for entry in metadata.get("ownerReferences") or []}
    news = [entry for entry in added.get("ownerReferences") or [] if entry["uid"] not in known]
    if news:
        result["ownerReferences"] = [*(metadata.get("ownerReferences") or []), *news]
    if added.get("annotations"):
        result["annotations"] = {**(metadata.get("annotations") or {}), **added["annotations"]}
    return result


def refuse_foreign(
    manifest: Mapping[str, Any],
    live: Mapping[str, Any],
    owner: Mapping[str, Any] | None,
    identified_by: Collection[str],
) -> None:
    """Refuse to change an object that has the name of a manifest and belongs to somebody else.

    Args:
        manifest: what is going to be applied.
        live: the object of its name.
        owner: whose the manifest is; without a uid it is not in the cluster.
        identified_by: labels by which an object of the owner is recognized.

    Raises:
        Foreign: the object is somebody else's.
    """
    given = (manifest.get("metadata") or {}).get("labels") or {}
    labels = {name: str(given.get(name) or "") for name in identified_by}
    uid = ((owner or {}).get("metadata") or {}).get("uid") or ""
    if belongs(live, labels, uid):
        return
    listed = ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
    raise Foreign(
        f"apply {describe(manifest)}: an object of this name exists and does not belong to "
        f"{describe(owner or {})}; rename the resource or delete that object, or, to hand it over, "
        f"give it no controller and the labels {listed}"
    )
