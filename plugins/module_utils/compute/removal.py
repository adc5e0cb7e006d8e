# SPDX-License-Identifier: Apache-2.0
"""How compute nodes leave when their set, or the whole cluster, is deleted."""

from __future__ import annotations

from ..api.types import Resource
from ..workload.plans import PAUSE_ANNOTATIONS


def scaled_to_zero(resource: Resource) -> Resource:
    """Return a set that is deleted as if its spec asked for no Pods; a pause does not count.

    ``terminationPolicy: Drain`` counts by itself: ``storeDrainEnabled`` is about scaling in.

    Args:
        resource: a CNSet.
    """
    metadata = {key: value for key, value in resource["metadata"].items() if key != "annotations"}
    kept = {
        key: value
        for key, value in (resource["metadata"].get("annotations") or {}).items()
        if key not in PAUSE_ANNOTATIONS
    }
    spec = {**(resource.get("spec") or {}), "replicas": 0}
    if spec.get("terminationPolicy") == "Drain":
        spec["scalingConfig"] = {**(spec.get("scalingConfig") or {}), "storeDrainEnabled": True}
    return {**resource, "metadata": {**metadata, "annotations": kept}, "spec": spec}


def drains_at_its_end(resource: Resource) -> bool:
    """Return whether the nodes of a CNSet hand their work over before it is deleted."""
    return bool(resource["spec"].get("terminationPolicy") == "Drain")


def sheds_at_its_end(resource: Resource) -> bool:
    """Return whether Pods of a CNSet stay until their clients are gone, who then must be moved."""
    scaling = resource["spec"].get("scalingConfig") or {}
    return bool(scaling.get("storeDrainEnabled"))
