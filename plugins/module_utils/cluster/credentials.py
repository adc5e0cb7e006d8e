# SPDX-License-Identifier: Apache-2.0
"""Secrets that hold how to log in to a cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from ..api import names
from ..api.types import Manifest, Resource

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"


def login_secret(
    resource: Resource, name: str, pairs: Mapping[str, str], annotations: Mapping[str, str]
) -> Manifest:
    """Return a Secret that belongs to a cluster.

    Args:
        resource: the MatrixOneCluster.
        name: of the Secret.
        pairs: what it holds, as plain text.
        annotations: may be empty.
    """
    metadata = resource["metadata"]
    labels = {
        names.LABEL_CLUSTER: metadata["name"],
        "app.kubernetes.io/part-of": names.PART_OF,
        _MANAGED_BY: names.MANAGED_BY,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": labels,
            **({"annotations": dict(annotations)} if annotations else {}),
        },
        "type": "Opaque",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in pairs.items()},
    }


def is_ours(secret: Manifest) -> bool:
    """Return whether a Secret was created by `login_secret`."""
    labels = secret["metadata"].get("labels") or {}
    return bool(labels.get(_MANAGED_BY) == names.MANAGED_BY)
