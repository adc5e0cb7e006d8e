# SPDX-License-Identifier: Apache-2.0
"""How a set is removed: what is deleted, and what that waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api import names
from ..api.types import Manifest, Resource
from .plans import Kind

_PARTS: tuple[Kind, ...] = (
    {"api_version": "v1", "kind": "Service"},
    {"api_version": "v1", "kind": "ConfigMap"},
    {"api_version": "policy/v1", "kind": "PodDisruptionBudget"},
    {"api_version": "networking.k8s.io/v1", "kind": "NetworkPolicy"},
)
CLAIM: Kind = {"api_version": "v1", "kind": "PersistentVolumeClaim"}
_POD: Kind = {"api_version": "v1", "kind": "Pod"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Objects by kind, label and owner, as ``apply`` takes them for prune and wait_gone.

    Attributes:
        kinds: where to look.
        namespace: of the objects.
        labels: that they have.
        excluding: label values that they must not have, by label.
        owner_uid: uid of their owner; empty for any.
    """

    kinds: Sequence[Kind]
    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict)
    excluding: Mapping[str, Sequence[str]] = field(default_factory=dict)
    owner_uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One step of a removal.

    Attributes:
        title: what is deleted, for people.
        patches: what to change before, of objects that may be gone already.
        release: objects that outlive this step and whoever owns them, if any.
        objects: identities of objects to delete.
        prune: objects to delete by label and owner, if any.
        propagation: how what depends on them is deleted.
        gone: objects that must be gone before the next step, if any.
        awaits_deleted: whether what this step deletes must be gone, too.
        patience: seconds that may pass before the time that this step is given begins to count.
    """

    title: str
    patches: Sequence[Manifest] = ()
    release: Chosen | None = None
    objects: Sequence[Mapping[str, Any]] = ()
    prune: Chosen | None = None
    propagation: str = "Background"
    gone: Chosen | None = None
    awaits_deleted: bool = True
    patience: int = 0


def removal_of_set(resource: Resource, *, claims_go: bool = True) -> Removal:
    """Return the step that deletes a set: its workload and what belonged to it.

    Args:
        resource: the set.
        claims_go: whether the claims of its Pods are deleted with it.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    labels = names.selector_labels(kind, name, namespace)
    return removal_of_sets(f"{kind} {name}", kind, namespace, labels, claims_go=claims_go)


def removal_of_sets(
    title: str,
    kind: str,
    namespace: str,
    labels: Mapping[str, str],
    *,
    claims_go: bool = True,
    excluding: Mapping[str, Sequence[str]] | None = None,
) -> Removal:
    """Delete the objects of sets of a kind; their Pods and deleted claims must be gone."""
    claims = [CLAIM] if claims_go else []

    def chosen(*kinds: Kind) -> Chosen:
        return Chosen(
            kinds=[*kinds, *claims], namespace=namespace, labels=labels, excluding=excluding or {}
        )

    return Removal(
        title=title,
        prune=chosen(workload_of(kind), *_PARTS),
        propagation="Foreground",
        gone=chosen(_POD),
    )


def workload_of(kind: str) -> Kind:
    """Return the kind of the workload of sets of a kind."""
    return {"api_version": "apps/v1", "kind": names.WORKLOADS[kind]}


def leaves_orphans(resource: Resource) -> bool:
    """Return whether whoever deletes a resource wants to keep all that it owns."""
    return "orphan" in (resource["metadata"].get("finalizers") or [])
