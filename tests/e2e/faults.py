# SPDX-License-Identifier: Apache-2.0
"""Faults that change no object of the API server: processes that stand still, networks that are cut."""

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import testbed
from testbed import object_store
from testbed.bed import TestBed
from testbed.processes import Process, find, kill
from tests.e2e.clusters import Cluster

_PROGRAM = "mo-service"


def processes_of(cluster: Cluster, pods: Iterable[str]) -> list[int]:
    """Return the processes of MatrixOne in some Pods, as this machine numbers them."""
    uids = [cluster.get("pod", pod)["metadata"]["uid"] for pod in pods]
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            groups = (entry / "cgroup").read_text()
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if name == _PROGRAM and any(f"pod{uid}" in groups for uid in uids):
            found.append(int(entry.name))
    assert len(found) == len(uids), f"{len(found)} processes of {len(uids)} Pods"
    return found


@contextmanager
def frozen(cluster: Cluster, *pods: str) -> Iterator[None]:
    """Let the processes of Pods stand still for the block: the kernel still accepts connections."""
    stopped = processes_of(cluster, pods)
    try:
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextmanager
def cut_off(cluster: Cluster, *pods: str, one_way: bool = False) -> Iterator[None]:
    """Drop what Pods and other Pods send each other; their node, and so its kubelet, is heard.

    Args:
        cluster: of the Pods.
        pods: that are cut off.
        one_way: only what they send is dropped.
    """
    peers = sorted(
        pod["status"]["podIP"]
        for kind in ("LogSet", "DNSet", "CNSet", "ProxySet")
        for name, pod in cluster.pods(kind).items()
        if name not in pods
    )
    with _without(processes_of(cluster, pods), peers, one_way=one_way):
        yield


@contextmanager
def cut_from(cluster: Cluster, pod: str, peer: str) -> Iterator[None]:
    """Drop what a Pod and another address send each other; the rule ends with the Pod at the latest.

    Args:
        cluster: of the Pod.
        pod: its name.
        peer: an IP address.
    """
    with _without(processes_of(cluster, [pod]), [peer]):
        yield


@contextmanager
def _without(
    inside: Iterable[int], peers: Iterable[str], *, one_way: bool = False
) -> Iterator[None]:
    """Drop what processes and addresses send each other, in the namespaces of the processes."""
    rules = [("OUTPUT", "-d", peer) for peer in peers]
    rules += [] if one_way else [("INPUT", "-s", peer) for peer in peers]
    done: list[tuple[int, tuple[str, str, str]]] = []
    try:
        for process in inside:
            for rule in rules:
                _iptables(process, "-I", *rule)
                done.append((process, rule))
        yield
    finally:
        for process, rule in done:
            if Path(f"/proc/{process}").exists():
                _iptables(process, "-D", *rule)


def _iptables(process: int, action: str, chain: str, side: str, peer: str) -> None:
    """Change a rule in the network namespace of a process, with which the rule ends."""
    rule = ["iptables", action, chain, side, peer, "-j", "DROP"]
    subprocess.run(["nsenter", f"--target={process}", "--net", "--", *rule], check=True, timeout=10)


def _server(bed: TestBed, name: str) -> Process:
    """Return a process of the test bed itself."""
    process = find(bed.places, name)
    assert process is not None, f"{bed.name} has no {name}"
    return process


@contextmanager
def hung(bed: TestBed, name: str) -> Iterator[None]:
    """Let a process of the test bed stand still for the block, e.g. ``node-0-kubelet``."""
    pid = _server(bed, name).pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def without_api_server(bed: TestBed) -> Iterator[None]:
    """End the API server of a test bed for the block: connections to it are refused.

    Controllers and scheduler end with it, when they cannot renew their leases.
    """
    kill(_server(bed, "kube-apiserver"))
    try:
        yield
    finally:
        state = bed.state
        testbed.up(
            bed.name,
            nodes=state.nodes,
            node_count=state.node_count,
            audit=state.audit,
            images=["matrixone"],
        )


@contextmanager
def without_object_store(bed: TestBed) -> Iterator[None]:
    """End the S3 server of the test bed for the block: connections to it are refused."""
    kill(_server(bed, object_store.PROCESS))
    try:
        yield
    finally:
        testbed.add_object_store(bed.name)
