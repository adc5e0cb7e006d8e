# SPDX-License-Identifier: Apache-2.0
"""Nodes that exist on paper: kwok reports their pods as running, thousands if need be."""

from testbed.api import ApiClient, Json
from testbed.certificates import Authority
from testbed.places import SOURCE
from testbed.processes import Launcher
from testbed.state import State
from testbed.waiting import wait_until

_MARK = "kwok.x-k8s.io/node"
_READY_SECONDS = 30.0
_LEASE_SECONDS = 40
_ZONES = 3


def _pod_range(state: State) -> str:
    """Return addresses on which a connection fails at once, wherever the test bed runs.

    Nothing listens in the Pods of fake nodes. A private address may lead to a gateway that takes
    connections and never answers; no connection can be made to a multicast address (RFC 2365).
    """
    return f"239.{state.subnet}.0.0/17"


def _node(index: int, name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {_MARK: "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/region": "testbed",
                "topology.kubernetes.io/zone": f"zone-{index % _ZONES}",
            },
        },
    }


def _ready(node: Json) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def start(state: State, launcher: Launcher, client: ApiClient) -> None:
    """Start kwok, make the nodes, wait until all are ready and free of taints.

    Raises:
        StartError: they are not within half a minute.
    """
    authority = Authority.open(launcher.places.pki)
    kubeconfig = authority.kubeconfig(
        authority.folder / "kwok.conf", state.server, "kwok", "system:masters"
    )
    argv = [
        state.binaries["kwok"],
        f"--kubeconfig={kubeconfig}",
        f"--manage-nodes-with-annotation-selector={_MARK}=fake",
        f"--node-lease-duration-seconds={_LEASE_SECONDS}",
        f"--cidr={_pod_range(state)}",
        f"--node-ip=10.{state.subnet}.128.1",
        *(f"--config={path}" for path in sorted((SOURCE / "stages").glob("*.yaml"))),
    ]
    launcher.start("kwok", argv)
    for index, name in enumerate(state.node_names):
        client.apply(f"/api/v1/nodes/{name}", _node(index, name))

    def all_ready() -> bool:
        launcher.require_alive("kwok")
        nodes = client.request("GET", "/api/v1/nodes")["items"]
        return all(_ready(node) and not node["spec"].get("taints") for node in nodes)

    wait_until(all_ready, lambda: "fake nodes are not ready", _READY_SECONDS)
