# SPDX-License-Identifier: Apache-2.0
"""The workloads of Kubernetes itself: StatefulSets for stores with a place, Deployments else."""

from __future__ import annotations

from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.types import Manifest
from . import overlay, storage
from .sets import SetContext, replicas_of

Json = dict[str, Any]

_REVISIONS: Final = 3
"""Old revisions keep their ConfigMaps in use, so few are kept."""
_PROGRESS_SECONDS: Final = 600
"""Kubernetes' default of progressDeadlineSeconds; it refuses one that minReadySeconds reaches."""


def stateful_set(
    context: SetContext,
    template: Json,
    claims: list[Json],
    min_ready_seconds: int,
    *,
    is_cache: bool = False,
) -> Manifest:
    """Return a StatefulSet whose Pods start together and are replaced by the operator.

    Kubernetes would replace a log store by the readiness of Pods alone; see planning.rolling.

    Args:
        context: the set.
        template: the Pod template.
        claims: the claim templates.
        min_ready_seconds: how long a Pod must have been ready before the next is replaced.
        is_cache: whether nothing is lost with the claims, so that Kubernetes may delete them on
            deletion and scale-in. It does so for whoever deletes the StatefulSet by hand, too.
    """
    policy = "Delete" if is_cache else "Retain"
    spec: Json = {
        **_common(context, template),
        "serviceName": context.headless,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": policy,
            # Who stops a set wants to start it again, with its data.
            "whenScaled": "Retain" if context.spec.number("replicas") == 0 else policy,
        },
        "minReadySeconds": min_ready_seconds,
    }
    if claims:
        spec["volumeClaimTemplates"] = claims
    return context.manifest("apps/v1", "StatefulSet", context.base, {"spec": spec})


def deployment(
    context: SetContext, template: Json, rolling_update: Json, min_ready_seconds: int
) -> Manifest:
    """Return a Deployment.

    Args:
        context: the set.
        template: the Pod template.
        rolling_update: maxSurge and maxUnavailable.
        min_ready_seconds: how long a new Pod must have been ready before an old one is deleted.
    """
    spec = {
        **_common(context, template),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling_update},
        "minReadySeconds": min_ready_seconds,
    }
    if min_ready_seconds >= _PROGRESS_SECONDS:
        spec["progressDeadlineSeconds"] = min_ready_seconds + _PROGRESS_SECONDS
    return context.manifest("apps/v1", "Deployment", context.base, {"spec": spec})


def _common(context: SetContext, template: Json) -> Json:
    """Return what both workloads share; without replicas where the spec leaves them to others."""
    replicas = replicas_of(context.spec)
    chosen = {} if replicas is None else {"replicas": replicas}
    return {
        **chosen,
        "revisionHistoryLimit": _REVISIONS,
        "selector": {"matchLabels": context.selector},
        "template": template,
    }


def min_ready_seconds(spec: Fields, default: int) -> int:
    """Return how many seconds a Pod must be ready to count during an update.

    Raises:
        InvalidSpec: It is no integer, or negative.
    """
    chosen = spec.number("minReadySeconds")
    return default if chosen is None else chosen


def rolling_update(spec: Fields, max_surge: Any, max_unavailable: Any) -> Json:
    """Return maxSurge and maxUnavailable: the spec's, else the given ones.

    Raises:
        InvalidSpec: Both are zero, which would never replace a Pod.
    """
    strategy = spec.table("updateStrategy")
    surge, unavailable = strategy.raw("maxSurge"), strategy.raw("maxUnavailable")
    chosen = {
        "maxSurge": max_surge if surge is None else surge,
        "maxUnavailable": max_unavailable if unavailable is None else unavailable,
    }
    if all(value in (0, "0", "0%") for value in chosen.values()):
        raise spec.refuse("updateStrategy", "maxSurge and maxUnavailable must not both be 0")
    return chosen


def data_claim(volume: Fields) -> Json:
    """Return the claim template of the data volume."""
    return {
        "metadata": {"name": names.VOLUME_DATA},
        "spec": storage.claim_template(volume),
    }


def stateful_claims(spec: Fields, volume: Fields) -> list[Json]:
    """Return the claim templates of a StatefulSet: data first, then the overlay's."""
    return [data_claim(volume), *overlay.volume_claims(spec.table("overlay"))]


def ephemeral_volumes(context: SetContext, volume: Fields) -> list[Json]:
    """Return claims that live as long as their Pod, as volumes of a Deployment's Pods."""
    claims = stateful_claims(context.spec, volume)
    found = []
    for claim in claims:
        metadata = dict(claim["metadata"])
        name = metadata.pop("name")
        metadata["labels"] = {**metadata.get("labels", {}), **context.selector}
        template = {"metadata": metadata, "spec": claim["spec"]}
        found.append({"name": name, "ephemeral": {"volumeClaimTemplate": template}})
    return found
