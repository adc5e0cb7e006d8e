# SPDX-License-Identifier: Apache-2.0
"""The operator's own objects: an overlay's manifests with what a user chooses."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api.types import Manifest
from ..backup.task.jobs import IMAGE_VARIABLE

NAME: Final = "matrixone-operator"
_OF_THE_CLUSTER: Final = frozenset(
    {"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
)


def operator_objects(
    manifests: Iterable[Manifest],
    *,
    namespace: str,
    image: str = "",
    replicas: int | None = None,
    resources: Mapping[str, Any] | None = None,
    image_pull_secrets: Iterable[str] = (),
    environment: Mapping[str, Any] | None = None,
) -> list[Manifest]:
    """Return the manifests of an overlay for one installation.

    Args:
        manifests: of the overlay, for the namespace ``matrixone-operator``.
        namespace: where the operator lives.
        image: of the operator; empty for the manifests' own.
        replicas: how many Pods; None for the manifests' own.
        resources: of the container; empty for the manifests' own.
        image_pull_secrets: names of Secrets with which the image is pulled.
        environment: further variables of the container; they win over the manifests'.
    """
    placed = [_in_namespace(copy.deepcopy(manifest), namespace) for manifest in manifests]
    for manifest in placed:
        if manifest["kind"] == "Deployment":
            pod = manifest["spec"]["template"]["spec"]
            container = pod["containers"][0]
            if image:
                container["image"] = image
                container["env"] = _with(container.get("env") or [], {IMAGE_VARIABLE: image})
            if resources:
                container["resources"] = dict(resources)
            if environment:
                container["env"] = _with(container.get("env") or [], environment)
            if replicas is not None:
                manifest["spec"]["replicas"] = replicas
            if secrets := [{"name": name} for name in image_pull_secrets]:
                pod["imagePullSecrets"] = secrets
    return placed


def _with(listed: Iterable[Manifest], environment: Mapping[str, Any]) -> list[Manifest]:
    """Return variables with others in their places, and further ones after them."""
    given = {name: {"name": name, "value": str(environment[name])} for name in sorted(environment)}
    kept = [given.pop(variable["name"], variable) for variable in listed]
    return [*kept, *given.values()]


def _in_namespace(manifest: Manifest, namespace: str) -> Manifest:
    if manifest["kind"] == "Namespace":
        manifest["metadata"]["name"] = namespace
    elif manifest["kind"] not in _OF_THE_CLUSTER:
        manifest["metadata"]["namespace"] = namespace
    for subject in manifest.get("subjects") or []:
        if subject["kind"] == "ServiceAccount" and subject["name"] == NAME:
            subject["namespace"] = namespace
    return manifest
