# SPDX-License-Identifier: Apache-2.0
"""The Secret that tells applications how to connect as a user of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..api.fields import as_table
from ..api.types import Manifest, Resource
from ..cluster.connection import Target, target_of
from ..cluster.entrances import entrance_part


def secret_name(resource: Resource) -> str:
    """Return the name of the Secret of a DatabaseUser."""
    return f"{resource['metadata']['name']}-user-connection"


def is_asked(resource: Resource) -> bool:
    """Return whether a DatabaseUser is to have such a Secret."""
    return isinstance((resource.get("spec") or {}).get("connectionSecret"), Mapping)


def recorded(resource: Resource) -> str:
    """Return the name of the Secret that exists, as far as the status says; empty for none."""
    binding = as_table(as_table(resource.get("status")).get("binding"))
    return str(binding.get("name") or "")


def entrance_of(resource: Resource, children: Sequence[Manifest]) -> Target:
    """Return where the user connects.

    Args:
        resource: the DatabaseUser.
        children: those of its cluster, of which one takes connections.
    """
    part = entrance_part(children)
    if part is None:
        raise AssertionError("only a cluster with an entrance is asked")
    return target_of(part, secret_name(resource), "")


def as_cluster(resource: Resource, cluster: str) -> Resource:
    """Return what makes a Secret that of a cluster, with the settings of a user.

    Args:
        resource: the DatabaseUser.
        cluster: name of the MatrixOneCluster.
    """
    metadata = {**resource["metadata"], "name": cluster}
    settings = (resource.get("spec") or {}).get("connectionSecret") or {}
    return {
        "metadata": metadata,
        "spec": {"connectionSecret": {"database": settings.get("database")}},
    }
