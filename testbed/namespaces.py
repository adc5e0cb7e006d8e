# SPDX-License-Identifier: Apache-2.0
"""Namespaces for a while, and the end of those in which nobody is left to remove finalizers.

A test may stop its operator before its namespace is deleted. What has a finalizer then stays,
and the namespace with it. The controllers search each such namespace several times a minute, kind
by kind: 2 % of a core for every one of them, as long as the test bed lives.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from testbed.api import ApiClient, ApiError

PATIENCE = 20.0
"""Seconds that an operator that still runs has to end a namespace."""
_NOT_FOUND = 404
_NAMESPACES = "/api/v1/namespaces"
_ended: dict[Path, list[str]] = {}
"""Namespaces that this process has deleted and not found gone yet, by kubeconfig."""


def create(kubeconfig: Path, name: str) -> None:
    """Create a namespace.

    Raises:
        ApiError: the server refuses or does not answer.
    """
    ApiClient(kubeconfig).request("POST", _NAMESPACES, {"metadata": {"name": name}})


def end(kubeconfig: Path, name: str) -> None:
    """Begin the deletion of a namespace, if there is one, and release earlier ones that are stuck.

    Raises:
        ApiError: the server refuses the deletion or does not answer.
    """
    client = ApiClient(kubeconfig)
    try:
        client.request("DELETE", f"{_NAMESPACES}/{name}")
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
    earlier = [one for one in _ended.get(kubeconfig, []) if not _is_gone(client, one)]
    _ended[kubeconfig] = [*earlier, name]
    for stuck in earlier:
        with suppress(ApiError):  # somebody else may have deleted it meanwhile
            release(client, stuck)


def release(client: ApiClient, name: str) -> None:
    """Remove the finalizers of custom resources in a namespace that has been terminating for long.

    Args:
        client: of an administrator.
        name: of the namespace.

    Raises:
        ApiError: the server refuses or does not answer.
    """
    about = client.request("GET", f"{_NAMESPACES}/{name}")["metadata"]
    begun = about.get("deletionTimestamp")
    if not begun or time.time() - datetime.fromisoformat(begun).timestamp() < PATIENCE:
        return
    for collection in _custom_collections(client, name):
        for found in client.request("GET", collection)["items"]:
            if found["metadata"].get("finalizers"):
                path = f"{collection}/{found['metadata']['name']}"
                client.merge(path, {"metadata": {"finalizers": None}})


def _is_gone(client: ApiClient, name: str) -> bool:
    try:
        client.request("GET", f"{_NAMESPACES}/{name}")
    except ApiError as error:
        return error.status == _NOT_FOUND
    return False


def _custom_collections(client: ApiClient, namespace: str) -> Iterator[str]:
    """Yield the path of each collection of custom resources in a namespace."""
    for group in client.request("GET", "/apis")["groups"]:
        # Kubernetes' own groups have no domain, or one of its project.
        if "." not in group["name"] or group["name"].endswith(".k8s.io"):
            continue
        root = f"/apis/{group['preferredVersion']['groupVersion']}"
        for kind in client.request("GET", root)["resources"]:
            if kind["namespaced"] and "/" not in kind["name"]:
                yield f"{root}/namespaces/{namespace}/{kind['name']}"
