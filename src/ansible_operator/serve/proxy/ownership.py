# SPDX-License-Identifier: Apache-2.0
"""How an object names its owner: owner references, or annotations.

Pure functions on decoded objects, without I/O.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ansible_operator.errors import OperatorError
from ansible_operator.kube.interface import Object, ResourceType
from ansible_operator.kube.owners import PRIMARY_RESOURCE, PRIMARY_RESOURCE_TYPE, owner_type
from ansible_operator.serve.interface import Owner


class MalformedObjectError(OperatorError):
    """The body of a request is not an object that an owner can be added to."""


class OwnershipStyle(StrEnum):
    """The two ways of naming an owner."""

    REFERENCE = "reference"
    ANNOTATION = "annotation"


def style_for(owner: Owner, dependent: ResourceType, namespace: str) -> OwnershipStyle:
    """How ``owner`` may own an object of the kind in ``namespace``.

    Kubernetes allows references from anything to a cluster-scoped owner, and within a namespace;
    its garbage collector deletes objects with any other reference.

    Args:
        owner: the object that the run is for.
        dependent: kind of the object that is written.
        namespace: where it is; ``""`` for cluster-scoped ones.
    """
    if not owner.namespaced:
        return OwnershipStyle.REFERENCE
    if not dependent.namespaced or namespace != owner.namespace:
        return OwnershipStyle.ANNOTATION
    return OwnershipStyle.REFERENCE


def namespace_of(url_namespace: str, body: Mapping[str, Any]) -> str:
    """The namespace in the URL, else the one in the object."""
    return url_namespace or str(_mapping(body.get("metadata")).get("namespace") or "")


def owner_path(owner: Owner) -> str:
    """Value of the other annotation: ``namespace/name``, or ``name`` without a namespace."""
    return f"{owner.namespace}/{owner.name}" if owner.namespaced else owner.name


def is_owned(obj: Mapping[str, Any], owner: Owner, style: OwnershipStyle) -> bool:
    """Whether the object already names exactly this owner in this way."""
    metadata = _mapping(obj.get("metadata"))
    if style is OwnershipStyle.REFERENCE:
        references = metadata.get("ownerReferences") or []
        return any(_mapping(reference).get("uid") == owner.uid for reference in references)
    annotations = _mapping(metadata.get("annotations"))
    return annotations.get(PRIMARY_RESOURCE) == owner_path(owner) and annotations.get(
        PRIMARY_RESOURCE_TYPE
    ) == owner_type(owner.gvk)


def with_owner(obj: Mapping[str, Any], owner: Owner, style: OwnershipStyle) -> Object:
    """A copy of the object that names the owner; everything else is as it was.

    Raises:
        MalformedObjectError: metadata, references or annotations have another shape.
    """
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise MalformedObjectError("metadata is not an object")
    if _has_malformed_owners(metadata):
        raise MalformedObjectError("metadata.ownerReferences or annotations are malformed")
    if is_owned(obj, owner, style):
        return dict(obj)
    added = owner_metadata(owner, style)
    if style is OwnershipStyle.REFERENCE:
        added["ownerReferences"] = [*(metadata.get("ownerReferences") or []), _reference(owner)]
    else:
        added["annotations"] = {**(metadata.get("annotations") or {}), **added["annotations"]}
    return {**obj, "metadata": {**metadata, **added}}


def owner_metadata(owner: Owner, style: OwnershipStyle) -> dict[str, Any]:
    """The part of an object's metadata that names the owner."""
    if style is OwnershipStyle.REFERENCE:
        return {"ownerReferences": [_reference(owner)]}
    return {
        "annotations": {
            PRIMARY_RESOURCE: owner_path(owner),
            PRIMARY_RESOURCE_TYPE: owner_type(owner.gvk),
        }
    }


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _has_malformed_owners(metadata: Mapping[str, Any]) -> bool:
    references = metadata.get("ownerReferences") or []
    annotations = metadata.get("annotations") or {}
    if not isinstance(references, list) or not isinstance(annotations, Mapping):
        return True
    return not all(isinstance(reference, Mapping) for reference in references)


def _reference(owner: Owner) -> dict[str, str]:
    return {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


def style_of(metadata: Mapping[str, Any], owner: Owner) -> OwnershipStyle | None:
    """How an object that was read depends on some object of the owner's kind, if it does.

    Name and uid don't matter: the watch that follows from it serves the whole kind.
    """
    for reference in metadata.get("ownerReferences") or []:
        if (
            reference.get("apiVersion") == owner.gvk.api_version
            and reference.get("kind") == owner.gvk.kind
        ):
            return OwnershipStyle.REFERENCE
    named = (metadata.get("annotations") or {}).get(PRIMARY_RESOURCE_TYPE, "")
    # Objects of the core group were annotated with and without the trailing dot.
    if named and named.removesuffix(".") == owner_type(owner.gvk):
        return OwnershipStyle.ANNOTATION
    return None
