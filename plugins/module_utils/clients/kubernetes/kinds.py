# SPDX-License-Identifier: Apache-2.0
"""Where objects of a kind live in the API: the path of an object or a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from .errors import ApiError, BadManifest, NotFound
from .session import Session

_STABLE: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "v1": {
        "ConfigMap": ("configmaps", True),
        "Event": ("events", True),
        "Namespace": ("namespaces", False),
        "Node": ("nodes", False),
        "PersistentVolume": ("persistentvolumes", False),
        "PersistentVolumeClaim": ("persistentvolumeclaims", True),
        "Pod": ("pods", True),
        "Secret": ("secrets", True),
        "Service": ("services", True),
        "ServiceAccount": ("serviceaccounts", True),
    },
    "apps/v1": {
        "ControllerRevision": ("controllerrevisions", True),
        "Deployment": ("deployments", True),
        "ReplicaSet": ("replicasets", True),
        "StatefulSet": ("statefulsets", True),
    },
    "core.matrixorigin.io/v1alpha1": {
        "BucketClaim": ("bucketclaims", True),
        "CNClaim": ("cnclaims", True),
        "CNClaimSet": ("cnclaimsets", True),
        "CNPool": ("cnpools", True),
        "CNSet": ("cnsets", True),
        "DNSet": ("dnsets", True),
        "Database": ("databases", True),
        "DatabaseUser": ("databaseusers", True),
        "LogSet": ("logsets", True),
        "MatrixOneCluster": ("matrixoneclusters", True),
        "ProxySet": ("proxysets", True),
        "WebUI": ("webuis", True),
    },
    "events.k8s.io/v1": {"Event": ("events", True)},
    "matrixone.matrixorigin.cn/v1alpha1": {"MatrixoneCluster": ("matrixoneclusters", True)},
    "networking.k8s.io/v1": {"NetworkPolicy": ("networkpolicies", True)},
    "policy/v1": {"PodDisruptionBudget": ("poddisruptionbudgets", True)},
}
"""Plural and scope of the kinds that every pass needs. They are part of stable APIs and of our
own CRDs, so no server has to be asked."""


def describe(manifest: Mapping[str, Any]) -> str:
    """Name an object for a message: ``StatefulSet prod/mo-log``."""
    metadata = manifest.get("metadata") or {}
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{manifest.get('kind') or 'object'} {place}{metadata.get('name') or ''}".rstrip()


def collection_path(session: Session, api_version: str, kind: str, namespace: str | None) -> str:
    """Return the path under which objects of the kind are listed and created.

    Args:
        session: asked once per ``apiVersion`` about kinds that are not built in.
        api_version: e.g. ``apps/v1``.
        kind: e.g. ``StatefulSet``.
        namespace: namespace of the objects; None or empty for all, or for cluster-wide kinds.

    Raises:
        NotFound: the cluster does not serve this kind.
    """
    plural, namespaced = _resource(session, api_version, kind)
    prefix = _group_path(api_version)
    if namespaced and namespace:
        return f"{prefix}/namespaces/{quote(namespace)}/{plural}"
    return f"{prefix}/{plural}"


def object_path(session: Session, manifest: Mapping[str, Any]) -> str:
    """Return the path of one object, from its apiVersion, kind, namespace and name.

    Raises:
        BadManifest: one of them is missing.
        NotFound: the cluster does not serve this kind.
    """
    metadata = manifest.get("metadata") or {}
    for field, value in (
        ("apiVersion", manifest.get("apiVersion")),
        ("kind", manifest.get("kind")),
        ("metadata.name", metadata.get("name")),
    ):
        if not value:
            raise BadManifest(f"{describe(manifest)}: {field} is missing")
    api_version, kind = manifest["apiVersion"], manifest["kind"]
    namespace = metadata.get("namespace")
    if _resource(session, api_version, kind)[1] and not namespace:
        raise BadManifest(f"{describe(manifest)}: metadata.namespace is missing")
    return f"{collection_path(session, api_version, kind, namespace)}/{quote(metadata['name'])}"


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _resource(session: Session, api_version: str, kind: str) -> tuple[str, bool]:
    """Return plural and scope of a kind."""
    known = _STABLE.get(api_version, {}).get(kind)
    if known:
        return known
    if api_version not in session.discovered:
        session.discovered[api_version] = _discover(session, api_version, kind)
    try:
        return session.discovered[api_version][kind]
    except KeyError:
        raise not_served(api_version, kind) from None


def _discover(session: Session, api_version: str, kind: str) -> dict[str, tuple[str, bool]]:
    attempt = f"discover {api_version}"
    try:
        answer = session.request("GET", _group_path(api_version), attempt=attempt)
    except NotFound:
        raise not_served(api_version, kind) from None
    served = answer.get("resources", "")
    if served is None:
        return {}
    if not isinstance(served, list) or not all(map(_is_resource, served)):
        # What is no answer does not say that the cluster lacks a kind.
        raise ApiError(f"{attempt}: the answer names no kinds", 200, "", [])
    return {
        entry["kind"]: (entry["name"], bool(entry["namespaced"]))
        for entry in served
        if "/" not in entry["name"]
    }


def _is_resource(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("kind"), str)
        and isinstance(entry.get("name"), str)
        and "namespaced" in entry
    )


def not_served(api_version: str, kind: str) -> NotFound:
    """Return the error of a kind that the cluster does not have."""
    message = f"the cluster does not serve {kind} of {api_version}; are its CRDs installed?"
    return NotFound(message, 404, "NotFound", [])
