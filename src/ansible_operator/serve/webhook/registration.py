# SPDX-License-Identifier: Apache-2.0
"""Webhook configurations: for which kinds, where, trusted by which CA. Pure."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.kube.names import api_path
from ansible_operator.watches import Admission, Selector

_LABEL_OF_NAMESPACES = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Defaulting or validating.

    Attributes:
        kind: of the configuration.
        plural: of the configuration.
        prefix: of the webhooks' paths.
    """

    kind: str
    plural: str
    prefix: str

    def path(self, gvk: GroupVersionKind) -> str:
        """URL path of a kind's reviews, in the form of controller-runtime."""
        group = gvk.group.replace(".", "-")
        return f"{self.prefix}{group}-{gvk.version}-{gvk.kind.lower()}"


MUTATING = Phase(
    kind="MutatingWebhookConfiguration",
    plural="mutatingwebhookconfigurations",
    prefix="/mutate-",
)
VALIDATING = Phase(
    kind="ValidatingWebhookConfiguration",
    plural="validatingwebhookconfigurations",
    prefix="/validate-",
)
PHASES = (MUTATING, VALIDATING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A kind whose watch names functions.

    Attributes:
        selector: objects that are reviewed; None for all.
    """

    gvk: GroupVersionKind
    admission: Admission
    selector: Selector | None = None

    def names(self, phase: Phase) -> tuple[str, ...]:
        """The functions of a phase."""
        return self.admission.default if phase is MUTATING else self.admission.validate


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all webhooks have in common.

    Attributes:
        address: ``{"url": root}`` or ``{"service": {namespace, name, port}}``.
        failure_policy: for watches that name none.
        timeout: whole seconds that the API server waits.
        namespaces: whose objects are reviewed; empty for all.
    """

    address: Mapping[str, Any]
    failure_policy: str = "Ignore"
    timeout: int = 5
    namespaces: Sequence[str] = field(default_factory=tuple)


def configuration_path(phase: Phase, name: str) -> str:
    """The URL path of a configuration."""
    return api_path("apis", "admissionregistration.k8s.io", "v1", phase.plural, name)


def configuration(
    phase: Phase,
    name: str,
    hooks: Sequence[tuple[Hook, ResourceType]],
    terms: Terms,
    bundle: bytes | None,
) -> Object:
    """The configuration of a phase.

    Args:
        phase: what for.
        name: of the configuration.
        hooks: kinds with the way they are served; those without functions of the phase are left
            out.
        terms: what they have in common.
        bundle: certificates to trust, PEM; None when another controller injects them.
    """
    named = [(hook, resource) for hook, resource in hooks if hook.names(phase)]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": phase.kind,
        "metadata": {"name": name},
        "webhooks": [
            _webhook(phase, hook, resource, terms, bundle)
            for hook, resource in named
            if _operations(phase, hook)
        ],
    }


def _operations(phase: Phase, hook: Hook) -> list[str]:
    """Defaults cannot be set on DELETE."""
    return [
        operation
        for operation in hook.admission.operations
        if phase is VALIDATING or operation != "DELETE"
    ]


def _webhook(
    phase: Phase, hook: Hook, resource: ResourceType, terms: Terms, bundle: bytes | None
) -> dict[str, Any]:
    gvk = hook.gvk
    return {
        "name": f"{gvk.version}.{resource.plural}.{gvk.group or 'core.k8s.io'}",
        "clientConfig": _client_config(phase.path(gvk), terms.address, bundle),
        "rules": [
            {
                "apiGroups": [gvk.group],
                "apiVersions": [gvk.version],
                "operations": _operations(phase, hook),
                "resources": [
                    resource.plural,
                    *(f"{resource.plural}/{part}" for part in hook.admission.subresources),
                ],
                "scope": "*",
            }
        ],
        "failurePolicy": hook.admission.failure_policy or terms.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": terms.timeout,
        "admissionReviewVersions": ["v1"],
        **_selectors(hook, resource, terms.namespaces),
    }


def _client_config(path: str, address: Mapping[str, Any], bundle: bytes | None) -> dict[str, Any]:
    if "service" in address:
        target: dict[str, Any] = {"service": {**address["service"], "path": path}}
    else:
        target = {"url": address["url"] + path}
    if bundle is not None:
        target["caBundle"] = base64.b64encode(bundle).decode()
    return target


def _selectors(hook: Hook, resource: ResourceType, namespaces: Sequence[str]) -> dict[str, Any]:
    """Objects that this process does not reconcile are not reviewed either."""
    selectors: dict[str, Any] = {}
    if namespaces and resource.namespaced:
        requirement = {
            "key": _LABEL_OF_NAMESPACES,
            "operator": "In",
            "values": sorted(namespaces),
        }
        selectors["namespaceSelector"] = {"matchExpressions": [requirement]}
    if hook.selector is not None:
        selectors["objectSelector"] = {
            "matchLabels": dict(hook.selector.match_labels),
            "matchExpressions": [
                {"key": item.key, "operator": item.operator, "values": list(item.values)}
                for item in hook.selector.requirements
            ],
        }
    return selectors


def covers(found: Any, desired: Any) -> bool:
    """Whether a document has everything that is desired; it may have more keys, not more items."""
    if isinstance(desired, Mapping):
        return isinstance(found, Mapping) and all(
            covers(found.get(key, _empty(value)), value) for key, value in desired.items()
        )
    if isinstance(desired, list):
        same = isinstance(found, list) and len(found) == len(desired)
        return same and all(map(covers, found, desired))
    return bool(found == desired)


def _empty(value: Any) -> Any:
    """What the API server omits where an empty value was sent."""
    return type(value)() if isinstance(value, list | dict) else None


def injections(found: Object, bundle: bytes) -> list[dict[str, Any]]:
    """JSON patch that injects the CA into a configuration of another owner."""
    encoded = base64.b64encode(bundle).decode()
    operations: list[dict[str, Any]] = []
    for index, webhook in enumerate(found.get("webhooks") or []):
        if webhook["clientConfig"].get("caBundle") != encoded:
            place = f"/webhooks/{index}"
            operations += [
                {"op": "test", "path": f"{place}/name", "value": webhook["name"]},
                {"op": "add", "path": f"{place}/clientConfig/caBundle", "value": encoded},
            ]
    return operations
