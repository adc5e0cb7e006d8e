# SPDX-License-Identifier: Apache-2.0
"""Which connections NetworkPolicies let in, as a CNI plugin that enforces them decides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""The API server gives it to every namespace, and nobody can change it."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A Pod that connects or is connected to.

    Attributes:
        namespace: where it runs.
        labels: what its author gave it.
        namespace_labels: further labels of its namespace.
    """

    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)


def lets_in(
    policies: Sequence[Json], client: Pod, server: Pod, port: int, protocol: str = "TCP"
) -> bool:
    """Tell whether a connection from one Pod to another is let in.

    Args:
        policies: the NetworkPolicies of the cluster, for incoming traffic.
        client: who connects.
        server: who is connected to; without a policy that selects it, everything is let in.
        port: of the server.
        protocol: TCP or UDP.
    """
    selecting = [
        policy["spec"]
        for policy in policies
        if policy["metadata"]["namespace"] == server.namespace
        and _selects(policy["spec"]["podSelector"], server.labels)
    ]
    if not selecting:
        return True
    return any(
        _is_from(rule.get("from"), client, server.namespace)
        and _is_to(rule.get("ports"), port, protocol)
        for spec in selecting
        for rule in spec["ingress"]
    )


def _is_from(peers: Iterable[Json] | None, client: Pod, namespace: str) -> bool:
    if peers is None:
        return True
    own = {NAMESPACE_LABEL: client.namespace}
    for peer in peers:
        assert not peer.keys() - {"podSelector", "namespaceSelector"}, "not evaluated here"
        near = (
            _selects(peer["namespaceSelector"], {**client.namespace_labels, **own})
            if "namespaceSelector" in peer
            else client.namespace == namespace
        )
        if near and _selects(peer.get("podSelector", {}), client.labels):
            return True
    return False


def _is_to(ports: Iterable[Json] | None, port: int, protocol: str) -> bool:
    if ports is None:
        return True
    return any(
        entry.get("protocol", "TCP") == protocol
        and entry["port"] <= port <= entry.get("endPort", entry["port"])
        for entry in ports
    )


def _selects(selector: Json, labels: Mapping[str, str]) -> bool:
    assert not selector.keys() - {"matchLabels", "matchExpressions"}, "not evaluated here"
    wanted = selector.get("matchLabels") or {}
    found = all(labels.get(key) == value for key, value in wanted.items())
    for one in selector.get("matchExpressions") or []:
        assert one["operator"] == "In", "not evaluated here"
        found = found and labels.get(one["key"]) in one["values"]
    return found
