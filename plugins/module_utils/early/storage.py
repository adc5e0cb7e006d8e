# SPDX-License-Identifier: Apache-2.0
"""The claims of a MatrixoneCluster: which are its own, which grow, what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..api import quantities as quantity
from ..api.errors import QuantityError, RenderingError
from ..api.types import Manifest, Resource
from ..reporting.reasons import EarlyReason
from ..workload.plans import is_paused
from .observed import EarlyObserved
from .refusals import NO_REFUSAL, refused, too_many
from .rendering import CLAIMS, LABEL_OWNER, EarlyContext


def growth(resource: Resource, observed: EarlyObserved) -> list[Manifest]:
    """Return the claims that are smaller than desired, as patches that make them grow."""
    try:
        context = EarlyContext.of(resource)
        if is_paused(resource) or too_many(context):
            return []
        desired = _wanted_sizes(context)
    except RenderingError:
        return []
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {key: claim["metadata"][key] for key in ("name", "namespace")},
            "spec": {"resources": {"requests": {"storage": context.spec.raw(CLAIMS[name])}}},
        }
        for name, claim in own_claims(context.owner, observed.claims)
        if _requested(claim) < desired[name]
    ]


def own_claims(
    owner: str, claims: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the claims that a StatefulSet created, each with the name of its template.

    A label is not enough to belong: users may put it on claims of their own.
    """
    pattern = re.compile(rf"({'|'.join(CLAIMS)})-{re.escape(owner)}-\d+")
    for claim in claims:
        match = pattern.fullmatch(claim["metadata"]["name"])
        labels = claim["metadata"].get("labels") or {}
        if match is not None and labels.get(LABEL_OWNER) == owner:
            yield match[1], claim


def _wanted_sizes(context: EarlyContext) -> dict[str, int]:
    """Return the desired bytes of each claim template."""
    return {name: quantity.to_bytes(context.spec.raw(field)) for name, field in CLAIMS.items()}


def _requested(claim: Mapping[str, Any]) -> int:
    """Return the bytes that a claim, or its template, asks for; 0 when they cannot be read."""
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    try:
        return quantity.to_bytes(requests.get("storage"))
    except QuantityError:
        return 0


def sizes(workload: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes of each claim template of a StatefulSet."""
    templates = (workload.get("spec") or {}).get("volumeClaimTemplates") or []
    return {template["metadata"]["name"]: _requested(template) for template in templates}


def storage_refusal(context: EarlyContext, observed: EarlyObserved) -> Mapping[str, str]:
    """Return why the claims are not of the desired size: shrinking, or growth that was refused."""
    desired = _wanted_sizes(context)
    for name, claim in own_claims(context.owner, observed.claims):
        if _requested(claim) > desired[name]:
            field = CLAIMS[name]
            message = (
                f"spec.{field}: {context.spec.raw(field)} is less than what the claim "
                f"{claim['metadata']['name']} has, and claims cannot shrink; raise it again"
            )
            return refused(EarlyReason.VOLUME_SHRINK_REFUSED, message)
    if observed.growth.failure:
        return refused(EarlyReason.VOLUME_NOT_EXPANDABLE, observed.growth.failure)
    return NO_REFUSAL


def with_live_sizes(
    manifest: Manifest,
    live: Mapping[str, Any] | None,
    context: EarlyContext,
    observed: EarlyObserved,
) -> Manifest:
    """Keep the sizes in the claim templates as they are where the claims could not follow."""
    if manifest["kind"] != "StatefulSet" or live is None:
        return manifest
    kept = _unreachable(context, observed)
    known = {
        template["metadata"]["name"]: template
        for template in live["spec"].get("volumeClaimTemplates") or []
    }
    templates = [
        {**template, "spec": {**template["spec"], "resources": known[name]["spec"]["resources"]}}
        if (name := template["metadata"]["name"]) in kept and name in known
        else template
        for template in manifest["spec"]["volumeClaimTemplates"]
    ]
    return {**manifest, "spec": {**manifest["spec"], "volumeClaimTemplates": templates}}


def _unreachable(context: EarlyContext, observed: EarlyObserved) -> set[str]:
    """Return the claim templates whose claims cannot have the desired size."""
    desired = _wanted_sizes(context)
    failed = bool(observed.growth.failure)
    return {
        name
        for name, claim in own_claims(context.owner, observed.claims)
        if _requested(claim) > desired[name] or (failed and _requested(claim) < desired[name])
    }
