# SPDX-License-Identifier: Apache-2.0
"""Services: headless, client, discovery and metric ones."""

from __future__ import annotations

from typing import Any, Final

from ..api import names
from ..api.types import Manifest
from .pods import scrape_annotations
from .sets import SetContext

_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_POLICIES: Final = ("", "Cluster", "Local")
_ONLY_WITH: Final = {
    "nodePort": ("NodePort", "LoadBalancer"),
    "externalTrafficPolicy": ("NodePort", "LoadBalancer"),
    "loadBalancerClass": ("LoadBalancer",),
    "loadBalancerSourceRanges": ("LoadBalancer",),
}
"""Types of Services that have a field."""


def headless_service(context: SetContext) -> Manifest:
    """Return the Service that gives Pods their names, ready or not: stores find each other by it
    while they start.
    """
    body = {
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": context.selector,
        }
    }
    return context.manifest("v1", "Service", context.headless, body)


def internal_service(context: SetContext, name: str, port: int, port_name: str = "") -> Manifest:
    """Return a Service inside the cluster for one port of ready Pods."""
    entry: dict[str, Any] = {"port": port, "targetPort": port, "protocol": "TCP"}
    if port_name:
        entry = {"name": port_name, **entry}
    body = {"spec": {"type": "ClusterIP", "ports": [entry], "selector": context.selector}}
    return context.manifest("v1", "Service", name, body)


def metric_service(context: SetContext) -> Manifest:
    """Return the Service for scraping; whether Prometheus scrapes it depends on the spec."""
    service = internal_service(
        context, names.metric_name(context.base), names.PORT_METRICS, "metric"
    )
    if context.prometheus_scheme == "Service":
        service["metadata"]["annotations"] = scrape_annotations()
    return service


def client_service(context: SetContext, port: int, port_name: str) -> Manifest:
    """Return the Service for clients, of the type and with the annotations of the spec.

    Raises:
        InvalidSpec: The type is unknown, or a field does not apply to the type.
    """
    spec = context.spec
    service_type = spec.choice("serviceType", _TYPES, "ClusterIP")
    for name, types in _ONLY_WITH.items():
        if spec.raw(name) and service_type not in types:
            raise spec.refuse(name, f"needs serviceType {' or '.join(types)}")
    entry = {"name": port_name, "port": port, "targetPort": port, "protocol": "TCP"}
    node_port = spec.number("nodePort")
    if node_port:
        entry["nodePort"] = node_port
    chosen = {
        "externalTrafficPolicy": spec.choice("externalTrafficPolicy", _POLICIES, ""),
        "loadBalancerClass": spec.text("loadBalancerClass"),
        "loadBalancerSourceRanges": spec.texts("loadBalancerSourceRanges"),
    }
    body = {
        "spec": {
            "type": service_type,
            "ports": [entry],
            "selector": context.selector,
            **{name: value for name, value in chosen.items() if value},
        }
    }
    annotations = spec.texts_by_key("serviceAnnotations")
    if context.prometheus_scheme == "Service":
        annotations = {**annotations, **scrape_annotations()}
    return context.manifest("v1", "Service", context.base, body, annotations)
