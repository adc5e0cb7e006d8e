# SPDX-License-Identifier: Apache-2.0
"""When two states of a watched object differ in a way that matters (runner.md §2.19)."""

from collections.abc import Collection
from typing import Any

from ansible_operator.kube.interface import Object


def differs(
    before: Object, now: Object, *, with_status: bool, with_annotations: bool = True
) -> bool:
    """Whether a dependent has changed.

    Without status, that is the rule which roles of the Go runner live with: everything but
    ``status``, the version and the times in ``managedFields`` counts. With status, all that is
    left out are the version and ``managedFields``, which change with every write. Without
    annotations, these and ``managedFields`` are left out: controllers keep their books there.
    """
    if before["metadata"].get("resourceVersion") == now["metadata"].get("resourceVersion"):
        return False
    essences = [
        _essence(obj, with_status=with_status, with_annotations=with_annotations)
        for obj in (before, now)
    ]
    return essences[0] != essences[1]


def conditions_differ(before: Object, now: Object, types: Collection[str]) -> bool:
    """Whether the spec, the beginning of the deletion or one of these conditions has changed."""
    return _standing(before, types) != _standing(now, types)


def _standing(obj: Object, types: Collection[str]) -> tuple[Any, ...]:
    metadata, status = obj["metadata"], obj.get("status") or {}
    conditions = {
        condition.get("type"): (condition.get("status"), condition.get("observedGeneration"))
        for condition in status.get("conditions") or ()
        if condition.get("type") in types
    }
    return metadata.get("generation"), "deletionTimestamp" in metadata, conditions


def _essence(obj: Object, *, with_status: bool, with_annotations: bool) -> dict[str, Any]:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    fields = metadata.pop("managedFields", None) or []
    if not with_annotations:
        metadata.pop("annotations", None)
    if with_status:
        return {**obj, "metadata": metadata}
    rest = {key: value for key, value in obj.items() if key != "status"}
    if not with_annotations:
        return {**rest, "metadata": metadata}
    timeless = [{key: item[key] for key in item if key != "time"} for item in fields]
    return {**rest, "metadata": metadata, "managed": timeless}
