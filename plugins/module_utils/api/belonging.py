# SPDX-License-Identifier: Apache-2.0
"""Whose an object is that has the name of one that is needed, and who may refer to it.

Pure functions on JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def belongs(live: Mapping[str, Any], labels: Mapping[str, str], owner_uid: str) -> bool:
    """Return whether an object is the owner's, or has been left behind by an earlier one.

    It is if it names the owner. Without a controller it is by its labels, too: those of an owner
    that was deleted without its dependents, and what a playbook has created.

    Args:
        live: the object.
        labels: labels that it must have.
        owner_uid: uid of the owner; empty where that is not in the cluster.
    """
    metadata = live.get("metadata") or {}
    owners = metadata.get("ownerReferences") or []
    if owner_uid and any(owner.get("uid") == owner_uid for owner in owners):
        return True
    if any(owner.get("controller") for owner in owners):
        return False
    has = metadata.get("labels") or {}
    return all(has.get(name) == value for name, value in labels.items())


def allows(found: Mapping[str, Any], namespace: str) -> bool:
    """Return whether a set may be referred to from a namespace: its own, or one that it lists.

    Args:
        found: the set, as it is stored, or as a playbook plays it.
        namespace: of what refers to it.
    """
    own = (found.get("metadata") or {}).get("namespace") or "default"
    listed = (found.get("spec") or {}).get("allowedNamespaces")
    return namespace == own or (isinstance(listed, list) and namespace in listed)
