# SPDX-License-Identifier: Apache-2.0
"""Nodes: which are silent, which were given up, and which Pods were to have terminated by now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

Node = Mapping[str, Any]
Pod = Mapping[str, Any]
Nodes = Mapping[str, Any]
"""Nodes by name as far as they were looked up; None for one that does not exist."""

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_HOST_LABEL: Final = "kubernetes.io/hostname"
_GRACE_SECONDS: Final = 5.0
"""What a Pod on a lost node gets beyond the end that was set for it."""
_SOON_SECONDS: Final = 2
_OVERDUE_SECONDS: Final = 5
"""Its node may be slow, or not yet be known to be lost."""


def node_name(pod: Pod) -> str:
    """Return the node of a Pod; empty before it has one."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


def is_lost(name: str, nodes: Nodes) -> bool:
    """Return whether a node is gone, or its kubelet has fallen silent; unknown is not lost."""
    if name not in nodes:
        return False
    return _readiness(nodes[name]) in {"", "Unknown"}


def is_given_up(name: str, nodes: Nodes) -> bool:
    """Return whether it was declared that nothing runs on a node any more; unknown is not.

    Its Node was deleted, or has the taint ``node.kubernetes.io/out-of-service``. Both are said by a
    person or by the cloud, who know; a node that is merely silent may go on with all its containers
    (kubernetes.io/docs/concepts/cluster-administration/node-shutdown, "Non-graceful").
    """
    if name not in nodes:
        return False
    node = nodes[name]
    taints = ((node or {}).get("spec") or {}).get("taints") or []
    return node is None or any(taint.get("key") == OUT_OF_SERVICE for taint in taints)


def _readiness(node: Node | None) -> str:
    """Return the status of a node's condition Ready; empty for a node that does not exist."""
    if node is None:
        return ""
    conditions = (node.get("status") or {}).get("conditions") or []
    return next(
        (str(condition["status"]) for condition in conditions if condition["type"] == "Ready"),
        "Unknown",
    )


def nodes_of(volume: Mapping[str, Any]) -> set[str]:
    """Return the names of the nodes that a PersistentVolume is bound to.

    Empty when it is bound to none, or not by a node's name: it is unknown then.
    """
    affinity = ((volume.get("spec") or {}).get("nodeAffinity") or {}).get("required") or {}
    found: set[str] = set()
    for term in affinity.get("nodeSelectorTerms") or []:
        named = [
            *(
                expression
                for expression in term.get("matchExpressions") or []
                if expression.get("key") == _HOST_LABEL
            ),
            *(
                field
                for field in term.get("matchFields") or []
                if field.get("key") == "metadata.name"
            ),
        ]
        listed = [one.get("values") or [] for one in named if one.get("operator") == "In"]
        if not listed:
            return set()
        found.update(*listed)
    return found


def is_reachable(volume: Mapping[str, Any], nodes: Nodes) -> bool:
    """Return whether a PersistentVolume can be used on a node that lives; unknown counts as yes."""
    names = nodes_of(volume)
    return not names or any(not is_lost(name, nodes) for name in names)


def overdue(pods: Iterable[Pod], now: float) -> list[Pod]:
    """Return the Pods that were to have terminated by now.

    Args:
        pods: Pods of a set.
        now: the present, Unix time.
    """
    return [pod for pod in pods if (due := _due(pod)) is not None and due <= now]


def _due(pod: Pod) -> float | None:
    """Return when a Pod has to have terminated, Unix time; None for one that is not deleted."""
    end = pod["metadata"].get("deletionTimestamp")
    return datetime.fromisoformat(end).timestamp() + _GRACE_SECONDS if end else None


def requeue(pods: Iterable[Pod], now: float, otherwise: str) -> str:
    """Return when to check Pods that may be stuck on a lost node: when they are overdue.

    Args:
        pods: Pods of a set.
        now: the present, Unix time.
        otherwise: when to check again without it, in seconds such as ``10s``.
    """
    dues = [due for due in map(_due, pods) if due is not None]
    if not dues:
        return otherwise
    left = math.ceil(min(dues) - now)
    soon = max(left, _SOON_SECONDS) if left > 0 else _OVERDUE_SECONDS
    return f"{min(soon, int(otherwise.removesuffix('s')))}s"
