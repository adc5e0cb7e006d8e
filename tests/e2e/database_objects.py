# SPDX-License-Identifier: Apache-2.0
"""Users and databases of a cluster on the real node, as resources and as root sees them."""

import json
from typing import Any

from tests.e2e.clusters import Cluster, Json
from tests.support.waiting import eventually

Rows = tuple[tuple[Any, ...], ...]


def as_root(cluster: Cluster, *statements: str) -> Rows:
    """Run statements as root; return the rows of the last one."""
    with cluster.connect() as session, session.cursor() as cursor:
        for one in statements:
            cursor.execute(one)
        return tuple(cursor.fetchall())


def apply_one(kind: str, cluster: Cluster, resource: str, **spec: Any) -> None:
    """Apply a resource of a kind that belongs to the cluster."""
    manifest = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": resource},
        "spec": {"clusterRef": {"name": "mo"}, **spec},
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def status_of(kind: str, cluster: Cluster, name: str) -> Json:
    """Return the status of a resource; empty if it has none."""
    return dict(cluster.get(kind, name).get("status") or {})


def await_condition_of(
    kind: str, cluster: Cluster, name: str, condition: str, value: str, reason: str
) -> Json:
    """Wait until a condition of the present generation has a value and a reason."""

    def reached() -> Json | None:
        found = cluster.condition(kind, name, condition)
        wanted = cluster.get(kind, name)["metadata"]["generation"]
        is_so = (found.get("status"), found.get("reason")) == (value, reason)
        return found if is_so and found.get("observedGeneration") == wanted else None

    return dict(
        eventually(
            reached,
            180,
            f"{condition}={value} of {kind} {name}",
            otherwise=lambda: status_of(kind, cluster, name),
        )
    )


def look_again_at(kind: str, cluster: Cluster, name: str) -> None:
    """Make a pass ask the database, as one does every ten minutes."""
    old = {"status": {"lastChecked": "2026-01-01T00:00:00Z"}}
    patch = ("patch", kind, name, "--type=merge", "-p", json.dumps(old))
    cluster.kubectl(*patch, "--subresource=status")
    cluster.kubectl("annotate", "--overwrite", kind, name, "look=again")
    cluster.kubectl("annotate", kind, name, "look-")
