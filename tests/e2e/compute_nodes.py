# SPDX-License-Identifier: Apache-2.0
"""Compute nodes of a cluster on the real node, as Kubernetes and the status of their CNSet have them."""

from tests.e2e.clusters import Cluster


def stores(cluster: Cluster) -> dict[str, str]:
    """Work state by Pod, as the status of the CNSet tells it."""
    listed = cluster.get("cnset", "mo-tp").get("status", {}).get("stores", [])
    return {one["podName"]: one["state"] for one in listed}


def pods(cluster: Cluster) -> dict[str, bool]:
    """Whether it is being deleted, by name of the Pod of a compute node."""
    return {
        name: "deletionTimestamp" in pod["metadata"] for name, pod in cluster.pods("CNSet").items()
    }
