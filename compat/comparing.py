# SPDX-License-Identifier: Apache-2.0
"""Objects of two runs, field by field, without what is different in every run."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
Objects = Mapping[str, Json]
"""Objects by ``Kind/name``."""

_METADATA = ("annotations", "labels", "name", "ownerReferences", "finalizers")
_OWNER = ("apiVersion", "kind", "name", "controller", "blockOwnerDeletion")
_ASSIGNED = {
    "Service": ("clusterIP", "clusterIPs"),
    "PersistentVolumeClaim": ("volumeName",),
}
"""Fields of a spec that the cluster sets."""
_ADDED = ("pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")
"""Prefixes of annotations that controllers of the cluster set."""
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation in which kubernetes.core keeps the whole object, as JSON."""
_CHECKSUM = re.compile(r"\.annotations\.checksum-secrets?-[^.]+$")
"""Path of an annotation with the checksum of a Secret, with which a role rolls Pods."""
NOT_THERE = "(not there)"


def comparable(obj: Json) -> Json:
    """Return what an operator has decided of an object.

    Values of Secrets are generated: only their keys are kept, also of what was applied. The status,
    ports and addresses that the cluster assigns, and what the API server writes into metadata are
    left out.
    """
    kept = {key: value for key, value in obj.items() if key not in {"status", "metadata"}}
    metadata = {key: obj["metadata"][key] for key in _METADATA if key in obj["metadata"]}
    if "ownerReferences" in metadata:
        owners = metadata["ownerReferences"]
        metadata["ownerReferences"] = [{key: one.get(key) for key in _OWNER} for one in owners]
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        key: _without_values(json.loads(value)) if key == _APPLIED else value
        for key, value in annotations.items()
        if not key.startswith(_ADDED)
    }
    kept = _without_values(kept)
    assigned = _ASSIGNED.get(obj["kind"], ())
    if assigned:
        kept["spec"] = {key: value for key, value in obj["spec"].items() if key not in assigned}
    return {**kept, "metadata": metadata}


def _without_values(obj: Json) -> Json:
    """An object, of a Secret with its keys only."""
    if obj["kind"] != "Secret":
        return obj
    known = ("data", "stringData")
    return {
        key: dict.fromkeys(value or {}, "generated") if key in known else value
        for key, value in obj.items()
    }


def differences(left: Objects, right: Objects) -> list[tuple[str, str, Any, Any]]:
    """Compare the objects of two runs.

    Checksums of Secrets differ as their values do, and count only if one of them is not there.

    Returns:
        Object, path of the field (empty for an object that only one of them has), and both values.
    """
    found: list[tuple[str, str, Any, Any]] = []
    for name in sorted({*left, *right}):
        if name not in left or name not in right:
            sides = ["there" if name in side else NOT_THERE for side in (left, right)]
            found.append((name, "", sides[0], sides[1]))
            continue
        pairs = fields(comparable(left[name]), comparable(right[name]))
        found += [(name, *one) for one in pairs if not _is_generated(*one)]
    return found


def _is_generated(path: str, left: Any, right: Any) -> bool:
    """Whether both values are checksums of generated ones."""
    return NOT_THERE not in {str(left), str(right)} and bool(_CHECKSUM.search(path))


def fields(left: Any, right: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the paths below which two values differ, as deep as both have a structure."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            below = f"{path}.{key}" if path else str(key)
            yield from fields(left.get(key, NOT_THERE), right.get(key, NOT_THERE), below)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from fields(one, other, f"{path}[{number}]")
    elif left != right:
        yield path, left, right
