# SPDX-License-Identifier: Apache-2.0
"""The network between this machine and its real nodes.

Each node has a network namespace of its own, so its iptables rules never touch the machine's. A
bridge joins them with the machine, which has routes to pods and Services: a process on the machine
reaches them as a pod does. Of the test bed's 10.x.0.0/16, 10.x.0.0/24 is for machine (.1) and nodes
(from .10), 10.x.(n+1).0/24 for the pods of node n, 10.x.240.0/20 for Services.
"""

import subprocess
from pathlib import Path

from testbed import control_plane
from testbed.errors import StartError
from testbed.packages import find_tool
from testbed.state import State

LARGEST_NODE_COUNT = 100


def node_address(state: State, index: int) -> str:
    """Return the address of a node."""
    return f"10.{state.subnet}.0.{10 + index}"


def pod_range(state: State, index: int) -> str:
    """Return the address range of a node's pods."""
    return f"10.{state.subnet}.{index + 1}.0/24"


def inside(pid: int, *argv: str | Path) -> list[str]:
    """Return the command that runs ``argv`` in the namespaces of a node.

    Args:
        pid: the node's first process.
        argv: the command.
    """
    nsenter = find_tool("nsenter") or "nsenter"
    kinds = ("--mount", "--net", "--pid", "--uts", "--ipc")
    return [nsenter, f"--target={pid}", *kinds, "--", *map(str, argv)]


def _run(argv: list[str]) -> None:
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    if result.returncode:
        raise StartError(f"{' '.join(argv)}: {result.stderr.strip()}")


def _succeeds(argv: list[str]) -> bool:
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _ip(*arguments: str) -> None:
    _run([find_tool("ip") or "ip", *arguments])


def _exists(interface: str) -> bool:
    return Path("/sys/class/net", interface).exists()


def make_bridge(state: State) -> None:
    """Make the bridge that the API server listens on; nothing happens when it is there."""
    bridge = state.bridge
    if not _exists(bridge):
        _ip("link", "add", bridge, "type", "bridge")
    _ip("address", "replace", f"{state.address}/24", "dev", bridge)
    _ip("link", "set", bridge, "up")


def connect(state: State, index: int, pid: int) -> None:
    """Join a node with the bridge, and teach everyone the ways.

    Args:
        state: the test bed.
        index: number of the node.
        pid: the node's first process.
    """
    outer = f"{state.bridge}-{index}"
    address = node_address(state, index)
    ip = find_tool("ip") or "ip"
    if not _succeeds(inside(pid, ip, "link", "show", "eth0")):
        # The kernel takes its time to remove what led into a node that has ended.
        _succeeds([ip, "link", "delete", outer])
        peer = ("peer", "name", "eth0", "netns", str(pid))
        _ip("link", "add", outer, "type", "veth", *peer)
    _ip("link", "set", outer, "master", state.bridge, "up")
    _run(inside(pid, ip, "address", "replace", f"{address}/24", "dev", "eth0"))
    _run(inside(pid, ip, "link", "set", "eth0", "up"))
    _run(inside(pid, ip, "route", "replace", "default", "via", state.address))
    for other in range(state.node_count):
        if other != index:
            way = (pod_range(state, other), "via", node_address(state, other))
            _run(inside(pid, ip, "route", "replace", *way))
    _ip("route", "replace", pod_range(state, index), "via", address)
    if index == 0:
        _ip("route", "replace", control_plane.service_range(state), "via", address)


def remove(state: State) -> None:
    """Remove the bridge and the nodes' interfaces; the routes go with them."""
    interfaces = [path.name for path in Path("/sys/class/net").iterdir()]
    for interface in sorted(interfaces, reverse=True):
        if interface == state.bridge or interface.startswith(f"{state.bridge}-"):
            # The kernel removes a dead node's interface by itself, perhaps just now.
            _succeeds([find_tool("ip") or "ip", "link", "delete", interface])
    if _exists(state.bridge):
        raise StartError(f"interface {state.bridge} cannot be removed: ip link delete it")
