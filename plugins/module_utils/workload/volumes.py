# SPDX-License-Identifier: Apache-2.0
"""Volumes of a StatefulSet: what has to grow, what is refused, what is being waited for.

The claim templates of a StatefulSet cannot be changed. So its claims are grown one by one, and the
StatefulSet is recreated around its Pods, which are not affected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..api import names
from ..api import quantities as quantity
from ..api.comparing import differing_paths
from ..api.errors import QuantityError, RenderingError
from ..api.fields import Fields
from ..api.types import Manifest, Resource
from . import workloads
from .plans import is_paused

Json = dict[str, Any]
Claim = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Growth:
    """What is to be done about the volumes of a set.

    Attributes:
        claims: patches of claims that are smaller than the spec asks for.
        templates: claim templates that the StatefulSet should have; empty to leave it as it is.
        refused: what cannot be done, and why; empty if nothing.
        broken: what makes the Pods of the spec unusable; empty if nothing does.
        as_claimed: the spec names the StorageClass that the claims got by default, so that the
            templates stay without it.
    """

    claims: Sequence[Manifest] = ()
    templates: Sequence[Json] = ()
    refused: str = ""
    broken: str = ""
    as_claimed: bool = False


def growth(
    resource: Resource, field: str, workload: Manifest | None, claims: Iterable[Claim]
) -> Growth:
    """Compare the volumes that a set asks for with those that it has.

    Args:
        resource: a set of any kind.
        field: of its spec that describes the data volume of its Pods; empty where these have no
            claims of their own.
        workload: its live workload, if there is one.
        claims: the live claims that carry its labels.
    """
    if not field or workload is None or is_paused(resource):
        return Growth()
    try:
        return _compared(resource, field, workload, claims)
    except (RenderingError, QuantityError):  # reported by whoever renders the spec
        return Growth()


def _compared(
    resource: Resource, field: str, workload: Manifest, claims: Iterable[Claim]
) -> Growth:
    desired = _wanted(resource, field)
    has = {one["metadata"]["name"]: one for one in _live_templates(workload)}
    if broken := _only_at_creation(desired, has, field):
        return Growth(broken=broken, refused=broken)
    live = list(claims)
    comparable = [
        _as_claimed(template, has, claims_of(workload, template, live)) for template in desired
    ]
    if refused := _refused(comparable, has, field):
        return Growth(refused=refused)
    grown = [
        _grown(claim, template)
        for template in desired
        for claim in claims_of(workload, template, live)
        if _is_bound(claim) and _size(claim["spec"]) < _size(template["spec"])
    ]
    larger = (
        _size(has[manifest["metadata"]["name"]]["spec"]) < _size(manifest["spec"])
        for manifest in desired
    )
    templates = desired if any(larger) else ()
    return Growth(claims=grown, templates=templates, as_claimed=comparable != desired)


def _as_claimed(template: Json, has: Mapping[str, Json], claims: Sequence[Claim]) -> Json:
    """Return a claim template without a StorageClass that all its claims have by default.

    The API server gives claims the default class, and templates none.
    """
    spec, old = template["spec"], has[template["metadata"]["name"]]["spec"]
    chosen = spec.get("storageClassName")
    given = {(claim.get("spec") or {}).get("storageClassName") for claim in claims}
    if not chosen or "storageClassName" in old or given != {chosen}:
        return template
    kept = {name: value for name, value in spec.items() if name != "storageClassName"}
    return {**template, "spec": kept}


def _wanted(resource: Resource, field: str) -> list[Json]:
    spec = Fields("spec", resource.get("spec") or {})
    volume = spec.table(field)
    return workloads.stateful_claims(spec, volume) if volume.data else []


def _live_templates(workload: Manifest) -> list[Json]:
    return list((workload.get("spec") or {}).get("volumeClaimTemplates") or [])


def _only_at_creation(desired: Sequence[Json], has: Mapping[str, Json], field: str) -> str:
    """Refuse to add or remove volumes: Pods of the one kind cannot become Pods of the other."""
    names_wanted = {template["metadata"]["name"] for template in desired}
    changed = sorted(names_wanted ^ set(has))
    if not changed:
        return ""
    path = f"spec.{field}" if names.VOLUME_DATA in changed else "spec.overlay.volumeClaims"
    return f"{path}: volume {changed[0]} cannot be added or removed after creation"


def _refused(desired: Sequence[Json], has: Mapping[str, Json], field: str) -> str:
    for template in desired:
        name = template["metadata"]["name"]
        old, new = has[name]["spec"], template["spec"]
        path = f"spec.{field}" if name == names.VOLUME_DATA else "spec.overlay.volumeClaims"
        if _size(new) < _size(old):
            sizes = f"{_text(old)} to {_text(new)}"
            return f"{path}.size: volumes cannot shrink from {sizes}; they stay as they are"
        others = [one for one in differing_paths(old, new) if not one.startswith("resources.")]
        others += sorted(old.keys() - new.keys() - _DEFAULTED)
        if others:
            listed = ", ".join(others)
            return f"{path}: {listed} cannot be changed after creation; volumes stay as they are"
    return ""


def claims_of(workload: Manifest, template: Json, claims: Iterable[Claim]) -> list[Claim]:
    """Return the live claims that were created from a template, also those of Pods that went."""
    stem = f"{template['metadata']['name']}-{workload['metadata']['name']}"
    pattern = re.compile(rf"{re.escape(stem)}-\d+")
    return [
        claim
        for claim in claims
        if pattern.fullmatch(claim["metadata"]["name"])
        and not claim["metadata"].get("deletionTimestamp")
    ]


def _grown(claim: Claim, template: Json) -> Manifest:
    metadata = {key: claim["metadata"][key] for key in ("name", "namespace")}
    requests = {"requests": {"storage": _text(template["spec"])}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": {"resources": requests},
    }


def _is_bound(claim: Claim) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def _text(spec: Mapping[str, Any]) -> str:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return str(requests.get("storage") or "0")


def _size(spec: Mapping[str, Any]) -> int:
    return quantity.to_bytes(_text(spec))


def keep_templates(workload: Manifest, live: Manifest) -> Manifest:
    """Return a rendered StatefulSet with the claim templates that the live one has."""
    templates = _live_templates(live)
    spec = {name: value for name, value in workload["spec"].items() if name != _TEMPLATES}
    return {**workload, "spec": {**spec, _TEMPLATES: templates} if templates else spec}


_TEMPLATES = "volumeClaimTemplates"
_DEFAULTED = frozenset({"volumeMode"})
"""What the API server adds to a claim template of a StatefulSet."""


def keep_claim(claim: Manifest, live: Claim) -> Manifest:
    """Return a rendered claim with what cannot be changed of one that was kept from earlier."""
    desired, has = claim["spec"], live["spec"]
    spec = {name: has.get(name, value) for name, value in desired.items()}
    spec["resources"] = desired["resources"]
    if _size(has) > _size(desired):
        spec["resources"] = {"requests": {"storage": _text(has)}}
    return {**claim, "spec": spec}


def growing(claims: Iterable[Claim]) -> str:
    """Return which volumes are growing and what they wait for; empty if none is."""
    parts = []
    for claim in sorted(claims, key=lambda one: str(one["metadata"]["name"])):
        capacity = ((claim.get("status") or {}).get("capacity") or {}).get("storage")
        if not _is_bound(claim) or capacity is None:
            continue
        if quantity.to_bytes(capacity) < _size(claim["spec"]):
            progress = _progress(claim)
            size = _text(claim["spec"])
            parts.append(f"{claim['metadata']['name']} to grow from {capacity} to {size}{progress}")
    more = f" and {len(parts) - 3} more" if len(parts) > 3 else ""
    return f"waiting for volume {', '.join(parts[:3])}{more}" if parts else ""


def _progress(claim: Claim) -> str:
    """Return how far Kubernetes is with a claim, in its own words."""
    status = claim.get("status") or {}
    waiting = [
        condition["type"]
        for condition in status.get("conditions") or []
        if condition.get("status") == "True"
    ]
    state = (status.get("allocatedResourceStatuses") or {}).get("storage")
    states = ", ".join(dict.fromkeys([*waiting, *([state] if state else [])]))
    hint = "; some storage needs its Pod restarted for that" if _PENDING in waiting else ""
    return f" ({states}{hint})" if states else ""


_PENDING = "FileSystemResizePending"
