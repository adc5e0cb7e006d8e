# SPDX-License-Identifier: Apache-2.0
"""When two states of a watched object differ in a way that matters."""

from collections.abc import Collection
from typing import Any

from ansible_operator.kube.interface import Object
from ansible_operator.watches import DependentAnnotations

_PREFIXES = ("deployment.kubernetes.io/",)
"""Prefixes of the annotations that controllers of Kubernetes write and nobody sets: the one of
Deployments records the revision on each that it has observed; it is not desired state."""

_REPEATING = frozenset({("policy/v1", "PodDisruptionBudget")})
"""Kinds whose status repeats what others report: that of a PodDisruptionBudget counts Pods, which
change the status of their workload, too."""


def differs(
    before: Object,
    now: Object,
    *,
    with_status: bool,
    annotations: DependentAnnotations = DependentAnnotations.ALL,
) -> bool:
    """Whether a dependent has changed.

    With all annotations and without status, that is the rule which roles of the Go runner live
    with: everything but ``status``, the version and the times in ``managedFields`` counts. A
    Deployment that becomes available counts by that rule, because its status gets fields that
    ``managedFields`` list. With others' annotations, those of controllers in Kubernetes and the
    entries of ``managedFields`` for subresources are left out. Without annotations, all of them
    and ``managedFields`` are left out. With status, ``managedFields`` never count,
    which change with every write, nor does a status that repeats what others report.
    """
    if before["metadata"].get("resourceVersion") == now["metadata"].get("resourceVersion"):
        return False
    states = [
        _relevant(obj, with_status=with_status, annotations=annotations) for obj in (before, now)
    ]
    return states[0] != states[1]


def conditions_differ(before: Object, now: Object, types: Collection[str]) -> bool:
    """Whether the spec, the deletion or what holds of these conditions has changed.

    Who waits for a condition has nothing to do while it is unknown or false for another reason.
    """
    return _observed(before, types) != _observed(now, types)


def _observed(obj: Object, types: Collection[str]) -> tuple[Any, ...]:
    metadata, status = obj["metadata"], obj.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    holding = {
        condition["type"]: condition.get("observedGeneration")
        for condition in (conditions if isinstance(conditions, list) else ())
        if isinstance(condition, dict)
        and isinstance(condition.get("type"), str)
        and condition["type"] in types
        and condition.get("status") == "True"
    }
    return metadata.get("generation"), "deletionTimestamp" in metadata, holding


def _relevant(
    obj: Object, *, with_status: bool, annotations: DependentAnnotations
) -> dict[str, Any]:
    """The parts of an object whose change counts."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    fields = metadata.pop("managedFields", None) or []
    kept = metadata.pop("annotations", None) or {}
    if annotations is DependentAnnotations.OTHERS:
        kept = {key: value for key, value in kept.items() if not key.startswith(_PREFIXES)}
        fields = [item for item in fields if not item.get("subresource")]
    if annotations is not DependentAnnotations.NONE:
        metadata["annotations"] = kept
    rest = {key: value for key, value in obj.items() if key != "status"}
    if with_status:
        repeats = (obj.get("apiVersion"), obj.get("kind")) in _REPEATING
        return {**(rest if repeats else obj), "metadata": metadata}
    if annotations is DependentAnnotations.NONE:
        return {**rest, "metadata": metadata}
    timeless = [{key: item[key] for key in item if key != "time"} for item in fields]
    return {**rest, "metadata": metadata, "managed": timeless}
