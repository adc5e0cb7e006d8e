# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets and NetworkPolicies: on by default, each switched by a field of the spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.types import Manifest
from .sets import DEPENDENCIES, SetContext

_DATABASE: Final = (names.LOG_SET, names.DN_SET, names.CN_SET, names.PROXY_SET)
_OPERATOR_LABELS: Final = {"app.kubernetes.io/name": "matrixone-operator"}
_NAMESPACE: Final = "kubernetes.io/metadata.name"
"""A label that the API server gives to every namespace, and that nobody can change."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of a component by who may connect.

    Attributes:
        internal: (protocol, first port, last port) for every Pod of the set's namespace, the
            database's own Pods in the namespaces that it trusts, and the operator.
        public: ports for everybody.
    """

    internal: tuple[tuple[str, int, int], ...]
    public: tuple[int, ...]


def policies(
    context: SetContext, ports: Ports, max_unavailable: int, *, evict_unhealthy: bool
) -> list[Manifest]:
    """Return the budget and the policy of a set, as far as its spec leaves them switched on.

    Args:
        context: the set.
        ports: who may connect where.
        max_unavailable: how many Pods may be evicted at a time unless the spec says otherwise.
        evict_unhealthy: whether a Pod that is not ready may always be evicted. Not so for stores
            with data, whose unready Pods may be recovering.
    """
    found = []
    if _enabled(context.spec.table("podDisruptionBudget")):
        found.append(_budget(context, max_unavailable, evict_unhealthy=evict_unhealthy))
    if _enabled(context.spec.table("networkPolicy")):
        found.append(_network_policy(context, ports))
    return found


def _enabled(switch: Fields) -> bool:
    return switch.raw("enabled") is None or switch.flag("enabled")


def _budget(context: SetContext, max_unavailable: int, *, evict_unhealthy: bool) -> Manifest:
    chosen = context.spec.table("podDisruptionBudget").raw("maxUnavailable")
    spec: dict[str, Any] = {
        "maxUnavailable": max_unavailable if chosen is None else chosen,
        "selector": {"matchLabels": context.selector},
    }
    if evict_unhealthy:
        spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    return context.manifest("policy/v1", "PodDisruptionBudget", context.base, {"spec": spec})


def with_operator(objects: Iterable[Manifest], namespace: str) -> list[Manifest]:
    """Admit the operator's Pods wherever a NetworkPolicy admits the Pods of a database.

    They are not part of rendering: where the operator runs is no property of a set.

    Args:
        objects: of a set.
        namespace: of the operator's Pods; empty if there are none.
    """
    if not namespace:
        return list(objects)
    peer = _peer(namespace, {"matchLabels": dict(_OPERATOR_LABELS)})
    return [
        _admitting(manifest, peer) if manifest["kind"] == "NetworkPolicy" else manifest
        for manifest in objects
    ]


def _admitting(policy: Manifest, peer: Mapping[str, Any]) -> Manifest:
    spec = policy["spec"]
    ingress = [
        {**rule, "from": [*rule["from"], peer]} if "from" in rule else rule
        for rule in spec["ingress"]
    ]
    return {**policy, "spec": {**spec, "ingress": ingress}}


def _network_policy(context: SetContext, ports: Ports) -> Manifest:
    ingress: list[dict[str, Any]] = []
    if ports.internal:
        internal = [_port(*entry) for entry in ports.internal]
        ingress.append({"from": _peers(context), "ports": internal})
    if ports.public:
        ingress.append({"ports": [_port("TCP", port, port) for port in ports.public]})
    spec = {
        "podSelector": {"matchLabels": context.selector},
        "policyTypes": ["Ingress"],
        "ingress": ingress,
    }
    return context.manifest("networking.k8s.io/v1", "NetworkPolicy", context.base, {"spec": spec})


def _peers(context: SetContext) -> list[dict[str, Any]]:
    """Return who may use the internal ports, which ask for no password.

    A namespace is trusted as a whole: whoever creates Pods in it chooses their labels.
    """
    database = {
        "matchExpressions": [
            {"key": names.LABEL_COMPONENT, "operator": "In", "values": list(_DATABASE)}
        ]
    }
    others = _trusted_namespaces(context)
    return [{"podSelector": {}}, *(_peer(namespace, database) for namespace in others)]


def _trusted_namespaces(context: SetContext) -> Sequence[str]:
    """Return the other namespaces that a set lists, and those of what it depends on.

    What it depends on opens connections, too: a transaction node asks compute nodes about locks.
    """
    listed = set(context.spec.texts("allowedNamespaces"))
    for key in context.deps.data:
        if key in DEPENDENCIES:
            listed.add(context.deps.table(key).table("metadata").text("namespace"))
    return sorted(listed - {"", context.namespace})


def _peer(namespace: str, pods: Mapping[str, Any]) -> dict[str, Any]:
    place = {"matchLabels": {_NAMESPACE: namespace}}
    return {"namespaceSelector": place, "podSelector": dict(pods)}


def _port(protocol: str, first: int, last: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"protocol": protocol, "port": first}
    if last != first:
        entry["endPort"] = last
    return entry
