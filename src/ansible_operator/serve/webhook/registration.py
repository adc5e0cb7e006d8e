# SPDX-License-Identifier: Apache-2.0
"""Telling the API server which kinds to ask about, where, and whom to trust."""

import base64
from collections.abc import Sequence
from typing import Any

from ansible_operator.kube.interface import Client, ResourceType

MANAGER = "ansible-operator-webhook"
TIMEOUT = 5
_ROOT = "/apis/admissionregistration.k8s.io/v1"
_PHASES = (
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "/mutate"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "/validate"),
)


def configurations(
    name: str, resources: Sequence[ResourceType], address: dict[str, Any], bundle: bytes
) -> list[tuple[str, dict[str, Any]]]:
    """Paths and bodies of the two configurations.

    Args:
        name: their name.
        resources: the kinds to be asked about.
        address: ``{"url": root}`` or ``{"service": {namespace, name, port}}``.
        bundle: certificates to trust, PEM.
    """
    made = []
    for kind, plural, path in _PHASES:
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": [_webhook(resource, address, path, bundle) for resource in resources],
        }
        made.append((f"{_ROOT}/{plural}/{name}", body))
    return made


def _webhook(
    resource: ResourceType, address: dict[str, Any], path: str, bundle: bytes
) -> dict[str, Any]:
    gvk = resource.gvk
    if "service" in address:
        target: dict[str, Any] = {"service": {**address["service"], "path": path}}
    else:
        target = {"url": address["url"] + path}
    return {
        "name": f"{gvk.version}.{resource.plural}.{gvk.group or 'core.k8s.io'}",
        "clientConfig": {**target, "caBundle": base64.b64encode(bundle).decode()},
        "rules": [
            {
                "apiGroups": [gvk.group],
                "apiVersions": [gvk.version],
                "operations": ["CREATE", "UPDATE"],
                "resources": [resource.plural],
                "scope": "*",
            }
        ],
        # Without the operator everything goes on: what it would refuse, its roles report.
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT,
        "admissionReviewVersions": ["v1"],
    }


async def register(
    client: Client,
    name: str,
    resources: Sequence[ResourceType],
    address: dict[str, Any],
    bundle: bytes,
) -> None:
    """Apply both configurations; see :func:`configurations`.

    Raises:
        KubeError: the API server refuses them.
    """
    for path, body in configurations(name, resources, address, bundle):
        query = {"fieldManager": MANAGER, "force": "true"}
        kind = "application/apply-patch+yaml"
        await client.request("PATCH", path, query=query, body=body, content_type=kind)
