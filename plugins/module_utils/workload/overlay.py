# SPDX-License-Identifier: Apache-2.0
"""The overlay: what users change in the rendered Pod.

Every rendering starts from nothing, so a removed overlay field leaves no trace. A field that is
written as null or as an empty object takes the operator's own setting away.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from ..api.fields import Fields

Json = dict[str, Any]

_MAIN_REPLACED: Final = {
    "command": "command",
    "args": "args",
    "envFrom": "envFrom",
    "imagePullPolicy": "imagePullPolicy",
    "livenessProbe": "livenessProbe",
    "readinessProbe": "readinessProbe",
    "startupProbe": "startupProbe",
    "lifecycle": "lifecycle",
    "mainContainerSecurityContext": "securityContext",
}
_POD_REPLACED: Final = (
    "initContainers",
    "serviceAccountName",
    "priorityClassName",
    "securityContext",
    "imagePullSecrets",
    "affinity",
    "tolerations",
    "terminationGracePeriodSeconds",
    "hostAliases",
    "runtimeClassName",
    "dnsConfig",
    "shareProcessNamespace",
    "topologySpreadConstraints",
)
_REMOVABLE: Final[tuple[Any, ...]] = (None, {}, [], "")


def upsert(elements: list[Json], changes: list[Json], key: str = "name") -> list[Json]:
    """Replace elements that have the same key in place and append the others in their order."""
    merged = [copy.deepcopy(element) for element in elements]
    for change in changes:
        places = [i for i, element in enumerate(merged) if element.get(key) == change.get(key)]
        if places:
            merged[places[0]] = copy.deepcopy(dict(change))
        else:
            merged.append(copy.deepcopy(dict(change)))
    return merged


def _objects(overlay: Fields, name: str, key: str = "name") -> list[Json]:
    """Return a list of objects, each of which must have its key."""
    elements = list(overlay.tables(name))
    for element in elements:
        element.required_text(key)
    return [dict(element.data) for element in elements]


def _replace(target: Json, name: str, overlay: Fields, field: str) -> None:
    if not overlay.has(field):
        return
    value = overlay.raw(field)
    if value in _REMOVABLE:
        target.pop(name, None)
    else:
        target[name] = copy.deepcopy(value)


def apply_to_main(container: Json, overlay: Fields) -> None:
    """Apply the overlay's first rows to a container, in place."""
    for field, name in _MAIN_REPLACED.items():
        _replace(container, name, overlay, field)
    env = _objects(overlay, "env")
    if env:
        container["env"] = upsert(container.get("env", []), env)
    mounts = _objects(overlay, "volumeMounts", key="mountPath")
    if mounts:
        container["volumeMounts"] = upsert(container.get("volumeMounts", []), mounts, "mountPath")


def apply_to_pod(pod: Json, overlay: Fields) -> None:
    """Apply the rows for the Pod to its spec, in place; ``main`` must be its first container."""
    for field in _POD_REPLACED:
        _replace(pod, field, overlay, field)
    volumes = _objects(overlay, "volumes")
    if volumes:
        pod["volumes"] = upsert(pod.get("volumes", []), volumes)
    sidecars = _objects(overlay, "sidecarContainers")
    if sidecars:
        pod["containers"] = [pod["containers"][0], *upsert(pod["containers"][1:], sidecars)]


def apply_to_metadata(metadata: Json, overlay: Fields, fixed: Mapping[str, str]) -> None:
    """Apply labels and annotations to a Pod template's metadata, in place.

    Args:
        metadata: the template's metadata.
        overlay: the overlay.
        fixed: labels that stay, because the workload selects by them.
    """
    metadata["labels"] = {
        **metadata.get("labels", {}),
        **overlay.texts_by_key("podLabels"),
        **fixed,
    }
    annotations = {**metadata.get("annotations", {}), **overlay.texts_by_key("podAnnotations")}
    if annotations:
        metadata["annotations"] = annotations


def volume_claims(overlay: Fields) -> list[Json]:
    """Return the additional claim templates, each reduced to its name, metadata and spec."""
    claims = []
    for claim in overlay.tables("volumeClaims"):
        claim.table("metadata").required_text("name")
        claims.append({"metadata": dict(claim.table("metadata").data), "spec": claim.raw("spec")})
    return copy.deepcopy(claims)
