# SPDX-License-Identifier: Apache-2.0
"""Real nodes: containerd, kubelet, kube-proxy and a name server, each node in its own namespaces.

A node's first process holds its mount, network and pid namespace. When it ends, the kernel ends all
processes of the node and takes its mounts, interfaces and iptables rules away: that is how a node
is removed, and how its loss is played.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testbed import cgroups, network
from testbed.api import ApiClient, Json
from testbed.errors import NotFoundError, StartError
from testbed.images import recipes
from testbed.node_config import SOCKET, NodeFiles
from testbed.packages import find_tool
from testbed.places import SOURCE, Places
from testbed.processes import Launcher, find, kill
from testbed.state import State
from testbed.waiting import wait_until

_READY_SECONDS = 60.0
_IMPORT_SECONDS = 300.0
_DIGEST = re.compile(r"-[0-9a-f]{12}(?=\.tar$)")


def prepare(state: State, launcher: Launcher, images: Iterable[Path]) -> None:
    """Start the nodes as far as they go without an API server, and fill them with images.

    Args:
        state: the test bed.
        launcher: starts its processes.
        images: image archives that all nodes get.

    Raises:
        StartError: a program ends or is not ready in time.
    """
    archives = [recipes.pause(Path(state.binaries["node-init"])), *images]
    with ThreadPoolExecutor(thread_name_prefix="node") as pool:
        nodes = [NodeFiles(state, index) for index in range(state.node_count)]
        list(pool.map(lambda node: _prepare_node(node, launcher, archives), nodes))


def _prepare_node(node: NodeFiles, launcher: Launcher, archives: Iterable[Path]) -> None:
    state, name = node.state, node.name
    prepared = node.folder / "prepared"
    existing = find(launcher.places, name)
    if existing is None or not existing.alive():
        node.folder.mkdir(parents=True, exist_ok=True)
        prepared.unlink(missing_ok=True)
        # What a machine forgets when it boots: sockets and leases of processes that are no more.
        for stale in ("run", "var/lib/cni"):
            shutil.rmtree(node.folder / stale, ignore_errors=True)
    cgroups.make(state, name)
    program = state.binaries["node-init"]
    argv: list[str | Path] = ["/bin/sh", SOURCE / "node-setup.sh", node.folder, name, program]
    first = launcher.start(name, argv, new_namespaces=True)

    def is_prepared() -> bool:
        launcher.require_alive(name)
        return prepared.exists()

    wait_until(is_prepared, lambda: f"{name} does not start", _READY_SECONDS)
    network.connect(state, node.index, first.pid)
    containerd = find_tool("containerd") or "containerd"
    process = f"{name}-containerd"
    launcher.start(process, [containerd, f"--config={node.containerd()}"], join=first.pid)

    def answers() -> bool:
        launcher.require_alive(process)
        return _ctr(first.pid, "version").returncode == 0

    wait_until(answers, lambda: f"containerd of {name} does not answer", _READY_SECONDS)
    for archive in archives:
        import_archive(node, first.pid, archive)


def _ctr(pid: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    ctr = find_tool("ctr") or "ctr"
    argv = [ctr, f"--address={SOCKET}", "--namespace=k8s.io", *arguments]
    return subprocess.run(
        network.inside(pid, *argv),
        capture_output=True,
        text=True,
        check=False,
        timeout=_IMPORT_SECONDS,
    )


def import_archive(node: NodeFiles, pid: int, archive: Path) -> None:
    """Give an image to a node; nothing happens when the node has this very archive.

    Args:
        node: the node.
        pid: its first process.
        archive: an OCI or Docker archive.

    Raises:
        StartError: containerd does not take it.
    """
    stat, path = archive.stat(), str(archive.resolve())
    # Archives that differ in their digest alone give one image its content.
    imported = node.folder / "imported" / re.sub(r"\W", "_", _DIGEST.sub("", path))
    version = f"{path} {stat.st_size} {stat.st_mtime_ns}"
    if imported.exists() and imported.read_text() == version:
        return
    result = _ctr(pid, "images", "import", path)
    if result.returncode:
        raise StartError(f"{archive} cannot be imported: {result.stderr.strip()}")
    imported.parent.mkdir(exist_ok=True)
    imported.write_text(version)


def load_image(state: State, places: Places, archive: Path) -> None:
    """Give an image to all nodes that run.

    Raises:
        StartError: containerd does not take it.
    """
    for index in range(state.node_count):
        node = NodeFiles(state, index)
        first = find(places, node.name)
        if first and first.alive():
            import_archive(node, first.pid, archive)


def tag_image(state: State, places: Places, image: str, tag: str) -> None:
    """Give an image one more name on all nodes that run.

    Raises:
        StartError: a node does not have the image.
    """
    for index in range(state.node_count):
        first = find(places, NodeFiles(state, index).name)
        if first and first.alive():
            result = _ctr(first.pid, "images", "tag", "--force", image, tag)
            if result.returncode:
                raise StartError(f"{image} cannot be tagged {tag}: {result.stderr.strip()}")


def start(state: State, launcher: Launcher, client: ApiClient) -> None:
    """Start what needs the API server, and wait until all nodes are ready.

    Raises:
        StartError: a program has ended, or a node is not ready within a minute.
    """
    _allow_proxies(client)
    for index in range(state.node_count):
        _start_node(NodeFiles(state, index), launcher)

    def all_ready() -> bool:
        for name in state.node_names:
            for program in ("kubelet", "kube-proxy", "dns"):
                launcher.require_alive(f"{name}-{program}")
        nodes = client.request("GET", "/api/v1/nodes")["items"]
        return sum(_ready(node) for node in nodes) == state.node_count

    wait_until(all_ready, lambda: "nodes are not ready", _READY_SECONDS)


def stop_node(state: State, places: Places, name: str) -> None:
    """Play the loss of a node: everything on it ends at once; ``up`` brings it back.

    Raises:
        NotFoundError: the test bed has no such node.
    """
    first = find(places, name) if name in state.node_names else None
    if first is None:
        raise NotFoundError(f"no real node is called {name!r}: {', '.join(state.node_names)}")
    kill(first)


def _ready(node: Json) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and not node["spec"].get("taints")


def _allow_proxies(client: ApiClient) -> None:
    """Bind the built-in role for kube-proxy, for which Kubernetes creates no binding."""
    client.apply(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/testbed:kube-proxy",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "testbed:kube-proxy"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:node-proxier",
            },
            "subjects": [
                {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "User",
                    "name": "system:kube-proxy",
                }
            ],
        },
    )


def _start_node(node: NodeFiles, launcher: Launcher) -> None:
    state, name = node.state, node.name
    first = find(launcher.places, name)
    if first is None:
        raise StartError(f"{name} was not prepared")
    configuration, kubeconfig = node.kubelet()
    kubelet = [
        state.binaries["kubelet"],
        f"--config={configuration}",
        f"--kubeconfig={kubeconfig}",
        f"--hostname-override={name}",
        f"--node-ip={network.node_address(state, node.index)}",
        f"--node-labels=topology.kubernetes.io/zone=zone-{node.index}",
        "--root-dir=/var/lib/kubelet",
    ]
    proxy = [state.binaries["kube-proxy"], f"--config={node.kube_proxy()}"]
    dns = [state.binaries["coredns"], f"-conf={node.coredns()}"]
    for program, argv in {"kubelet": kubelet, "kube-proxy": proxy, "dns": dns}.items():
        launcher.start(f"{name}-{program}", argv, join=first.pid)
