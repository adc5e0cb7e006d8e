# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets and NetworkPolicies: on by default, each switched by a field of the spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.types import Manifest
from .sets import SetContext

_DATABASE: Final = (names.LOG_SET, names.DN_SET, names.CN_SET, names.PROXY_SET)
_OPERATOR_LABELS: Final = {"app.kubernetes.io/name": "matrixone-operator"}


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of a component by who may connect.

    Attributes:
        internal: (protocol, first port, last port) for the database's own Pods, in any namespace,
            every Pod of the set's namespace, and the operator.
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


def _network_policy(context: SetContext, ports: Ports) -> Manifest:
    ingress: list[dict[str, Any]] = []
    if ports.internal:
        ingress.append({"from": _peers(), "ports": [_port(*entry) for entry in ports.internal]})
    if ports.public:
        ingress.append({"ports": [_port("TCP", port, port) for port in ports.public]})
    spec = {
        "podSelector": {"matchLabels": context.selector},
        "policyTypes": ["Ingress"],
        "ingress": ingress,
    }
    return context.manifest("networking.k8s.io/v1", "NetworkPolicy", context.base, {"spec": spec})


def _peers() -> list[dict[str, Any]]:
    """Return who may use the internal ports.

    Sets may depend on a LogSet in another namespace, and the operator lives in one of its own.
    """
    database = [{"key": names.LABEL_COMPONENT, "operator": "In", "values": list(_DATABASE)}]
    return [
        {"podSelector": {}},
        {"namespaceSelector": {}, "podSelector": {"matchExpressions": database}},
        {"namespaceSelector": {}, "podSelector": {"matchLabels": dict(_OPERATOR_LABELS)}},
    ]


def _port(protocol: str, first: int, last: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"protocol": protocol, "port": first}
    if last != first:
        entry["endPort"] = last
    return entry
