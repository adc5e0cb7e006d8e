# SPDX-License-Identifier: Apache-2.0
"""How a set is removed: what is deleted, and what that waits for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
_POD: Kind = {"api_version": "v1", "kind": "Pod"}
_STORAGE_CHECK: Kind = {"api_version": "apps/v1", "kind": "Deployment"}
"""It mounts the shared folder of a LogSet, whose claim is gone only after its Pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Objects by kind, label and owner, as ``apply`` takes them for prune and wait_gone.

    Attributes:
        kinds: where to look.
        namespace: of the objects.
        labels: that they have.
        excluding: label values that they must not have, by label.
        owner_uid: uid of their owner; empty for any.
        unowned: whether objects that somebody owns are left out.
    """

    kinds: Sequence[Kind]
    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict)
    excluding: Mapping[str, Sequence[str]] = field(default_factory=dict)
    owner_uid: str = ""
    unowned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One step of a removal.

    Attributes:
        title: what is deleted, for people.
        patches: what to change before, of objects that may be gone already.
        release: objects that outlive this step and whoever owns them, if any.
        free: objects that lose their owner and go on as they are, if any.
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
    free: Chosen | None = None
    objects: Sequence[Mapping[str, Any]] = ()
    prune: Chosen | None = None
    propagation: str = "Background"
    gone: Chosen | None = None
    awaits_deleted: bool = True
    patience: int = 0


def removal_of_set(resource: Resource, claims: str = "") -> Removal:
    """Return the step that deletes a set: its workload and what belonged to it.

    Args:
        resource: the set.
        claims: names of the claims that are deleted with it, see `claims_named`; empty for none.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    labels = names.selector_labels(kind, name, namespace)
    owner = metadata.get("uid") or ""
    return removal_of_sets(f"{kind} {name}", kind, namespace, labels, claims=claims, owner=owner)


def removal_of_sets(
    title: str,
    kind: str,
    namespace: str,
    labels: Mapping[str, str],
    *,
    claims: str = "",
    owner: str = "",
    excluding: Mapping[str, Sequence[str]] | None = None,
) -> Removal:
    """Delete the objects of sets of a kind; their Pods and deleted claims must be gone.

    Labels are copied with an object, for example when a volume is restored beside the original. So
    only what the set owns is deleted, and of claims those whose names its StatefulSet gives. What
    a playbook has created has no owner.

    Args:
        title: what is deleted, for people.
        kind: of the sets.
        namespace: of the objects.
        labels: that they have.
        claims: names of the claims that are deleted, see `claims_named`; empty for none.
        owner: uid of the set; empty where it is not in the cluster.
        excluding: label values that the objects must not have, by label.
    """
    volumes = [claim_kind(claims)] if claims else []
    parts = Chosen(
        kinds=[*_parts_of(kind), *volumes],
        namespace=namespace,
        labels=labels,
        excluding=excluding or {},
        owner_uid=owner,
        unowned=not owner,
    )
    return Removal(
        title=title,
        prune=parts,
        propagation="Foreground",
        gone=replace(parts, kinds=[_POD, *volumes], owner_uid="", unowned=False),
    )


def orphaning_of_set(resource: Resource) -> list[Removal]:
    """Return the step that frees what a set owns, for whoever deletes the set alone.

    The garbage collector does so, too, but not with what a pass that was under way has taken as the
    set's own again since then.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    if not metadata.get("uid"):
        return []
    name, namespace = metadata["name"], metadata["namespace"]
    parts = Chosen(
        kinds=_parts_of(kind),
        namespace=namespace,
        labels=names.selector_labels(kind, name, namespace),
        owner_uid=metadata["uid"],
    )
    return [Removal(title=f"the owner of what {kind} {name} consists of", free=parts)]


def _parts_of(kind: str) -> list[Kind]:
    checks = [_STORAGE_CHECK] if kind == names.LOG_SET else []
    return [workload_of(kind), *checks, *_PARTS]


def claim_kind(named: str) -> Kind:
    """Return the kind of claims, of those names alone."""
    return {"api_version": "v1", "kind": "PersistentVolumeClaim", "named": named}


def claims_named(kind: str, name: str, spec: Mapping[str, Any], workload: Any = None) -> str:
    """Return a regular expression for the names of the claims of a set with a StatefulSet.

    Args:
        kind: of the set.
        name: of the set.
        spec: of the set; only its additional volumes matter, and what cannot be read names none.
        workload: its live StatefulSet, if there is one: its templates count, too.
    """
    overlay = spec.get("overlay")
    more = overlay.get("volumeClaims") if isinstance(overlay, Mapping) else None
    live = ((workload or {}).get("spec") or {}).get("volumeClaimTemplates")
    given = [*(more if isinstance(more, list) else ()), *(live or ())]
    found = {names.VOLUME_DATA, *filter(None, map(_name_of, given))}
    stems = "|".join(re.escape(one) for one in sorted(found))
    base = re.escape(names.base_name(kind, name))
    shared = f"|{re.escape(names.shared_claim_name(name))}" if kind == names.LOG_SET else ""
    return f"({stems})-{base}-[0-9]+{shared}"


def _name_of(template: Any) -> str:
    metadata = template.get("metadata") if isinstance(template, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def workload_of(kind: str) -> Kind:
    """Return the kind of the workload of sets of a kind."""
    return {"api_version": "apps/v1", "kind": names.WORKLOADS[kind]}


def leaves_orphans(resource: Resource) -> bool:
    """Return whether whoever deletes a resource wants to keep all that it owns."""
    return "orphan" in (resource["metadata"].get("finalizers") or [])
