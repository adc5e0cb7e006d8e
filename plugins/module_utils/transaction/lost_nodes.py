# SPDX-License-Identifier: Apache-2.0
"""When a transaction node whose machine is silent may be replaced: when it is known to be dead.

Nothing in MatrixOne keeps two transaction nodes from writing. The log service compares the holder
of its lease with the number of the replica, which both have in common, and gives the lease to
whoever connects (handleSetLeaseHolderID in MatrixOne's pkg/logservice/rsm.go). So neither a node
that is Ready=Unknown nor a silent HAKeeper allows a second one: containers run on without their
kubelet, and who was cut off comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..workload import nodes as node_states

Pod = Mapping[str, Any]


_UNREAD_SECONDS: Final = 30.0
"""What a Pod gets beyond its end where its node may not be read, and so may merely be slow."""


def suspects(pods: Iterable[Pod], nodes: node_states.Nodes, now: float) -> list[Pod]:
    """Return the Pods that were to have terminated by now, on nodes that do not see to it.

    Args:
        pods: Pods of the set.
        nodes: their nodes, as far as they may be read.
        now: the present, Unix time.
    """
    return [
        pod
        for pod in node_states.overdue(pods, now)
        if (name := node_states.node_name(pod))
        and (_is_absent(name, nodes) if name in nodes else _is_late(pod, now))
    ]


def _is_absent(name: str, nodes: node_states.Nodes) -> bool:
    return node_states.is_lost(name, nodes) or node_states.is_given_up(name, nodes)


def _is_late(pod: Pod, now: float) -> bool:
    return bool(node_states.overdue([pod], now - _UNREAD_SECONDS))


def why_it_stays(pod: Pod, nodes: node_states.Nodes, heard: bool | None) -> str:
    """Return why the Pod of a transaction node is not force-deleted; empty if it may be.

    Args:
        pod: a Pod that `suspects` returned.
        nodes: nodes, as far as they may be read.
        heard: whether HAKeeper hears the transaction node; None if it does not answer.
    """
    name = str(pod["metadata"]["name"])
    node = node_states.node_name(pod)
    if node_states.is_given_up(node, nodes):
        if not heard:
            return ""
        return (
            f"{name} is not replaced: its node {node} was given up, but HAKeeper still hears it, "
            "and two transaction nodes would lose rows; switch the machine off"
        )
    silent = f"its node {node} does not answer"
    if node not in nodes:
        silent = f"it has not ended in time and its node {node} cannot be read"
    return (
        f"{name} is not replaced: {silent}, {_proof(heard)}, and two transaction nodes would lose "
        f"rows; make sure that the machine is off, then run: {given_up_by(node)}"
    )


def _proof(heard: bool | None) -> str:
    if heard is None:
        return "HAKeeper does not say whether it still runs"
    return (
        "HAKeeper still hears it" if heard else "it may still run though HAKeeper hears it no more"
    )


def given_up_by(node: str) -> str:
    """Return the command that declares that nothing runs on a node any more."""
    return f"kubectl taint nodes {node} {node_states.OUT_OF_SERVICE}=nodeshutdown:NoExecute"


def release_note(pod: Pod) -> str:
    """Return the note of the event for a Pod that was force-deleted."""
    name, node = pod["metadata"]["name"], node_states.node_name(pod)
    return f"force-deleted {name}: its node {node} was deleted or is out of service"
