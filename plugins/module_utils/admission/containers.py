# SPDX-License-Identifier: Apache-2.0
"""Containers and what is in them, as Kubernetes' core validation takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..api import quantities as quantity
from . import formats
from .shapes import (
    FORBIDDEN,
    REQUIRED,
    Amount,
    Either,
    Flag,
    Items,
    Keyed,
    Mistake,
    Number,
    Shape,
    Table,
    Text,
)

_SECONDS: Final = (1 << 31) - 1
_PORT: Final = Number(1, 65535)
_NAMED_PORT: Final = Either(_PORT, Text(formats.PORT_NAME))
_COUNT: Final = Number(0, _SECONDS)
_ID: Final = Number(0, _SECONDS)
_PULL_POLICIES: Final = ("Always", "Never", "IfNotPresent")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_KEY_OF: Final = Table({"key": Text(), "name": Text()}, required=("key",))


def _value_or_source(path: str, variable: Mapping[str, Any]) -> Iterator[Mistake]:
    source = variable.get("valueFrom")
    if source is None:
        return
    if variable.get("value"):
        yield Mistake(path, "value and valueFrom are mutually exclusive", FORBIDDEN)
    if len([name for name, inner in source.items() if inner is not None]) != 1:
        text = "must have exactly one source, such as secretKeyRef"
        yield Mistake(f"{path}.valueFrom", text, value=sorted(source))


ENV: Final = Items(
    Table(
        {
            "name": Text(formats.ENV_NAME),
            "value": Text(),
            "valueFrom": Table(
                {
                    "secretKeyRef": _KEY_OF,
                    "configMapKeyRef": _KEY_OF,
                    "fieldRef": Table({"fieldPath": Text()}, required=("fieldPath",)),
                    "resourceFieldRef": Table({"resource": Text()}, required=("resource",)),
                }
            ),
        },
        required=("name",),
        checks=(_value_or_source,),
    )
)
ENV_FROM: Final = Items(
    Table(
        {"configMapRef": Table(), "secretRef": Table(), "prefix": Text()},
        one_of=("configMapRef", "secretRef"),
    )
)
_MOUNT: Final = Table(
    {
        "name": Text(),
        "mountPath": Text(),
        "subPath": Text(),
        "subPathExpr": Text(),
        "readOnly": Flag(),
    },
    required=("name", "mountPath"),
)
_ACTIONS: Final[dict[str, Shape]] = {
    "exec": Table({"command": Items(Text())}, required=("command",)),
    "httpGet": Table(
        {"port": _NAMED_PORT, "path": Text(), "scheme": Text(choices=("", "HTTP", "HTTPS"))},
        required=("port",),
    ),
    "tcpSocket": Table({"port": _NAMED_PORT, "host": Text()}, required=("port",)),
}


def _probe(*, is_readiness: bool) -> Table:
    """Return the shape of a probe; one success is enough unless it decides about traffic."""
    fields: dict[str, Shape] = {
        **_ACTIONS,
        "grpc": Table({"port": _PORT, "service": Text()}, required=("port",)),
        "initialDelaySeconds": _COUNT,
        "timeoutSeconds": _COUNT,
        "periodSeconds": _COUNT,
        "failureThreshold": _COUNT,
        "successThreshold": _COUNT if is_readiness else Number(0, 1),
    }
    if not is_readiness:
        fields["terminationGracePeriodSeconds"] = Number(1, _SECONDS)
    return Table(fields, one_of=("exec", "httpGet", "tcpSocket", "grpc"))


PROBES: Final[dict[str, Shape]] = {
    "livenessProbe": _probe(is_readiness=False),
    "startupProbe": _probe(is_readiness=False),
    "readinessProbe": _probe(is_readiness=True),
}
_HOOK: Final = Table(
    {**_ACTIONS, "sleep": Table({"seconds": Number(0)})},
    one_of=("exec", "httpGet", "tcpSocket", "sleep"),
)
LIFECYCLE: Final = Table({"postStart": _HOOK, "preStop": _HOOK})


def _no_more_rights(path: str, context: Mapping[str, Any]) -> Iterator[Mistake]:
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        text = "cannot be false when privileged is true"
        yield Mistake(f"{path}.allowPrivilegeEscalation", text, value=False)


def _local_profile(path: str, profile: Mapping[str, Any]) -> Iterator[Mistake]:
    is_local = profile.get("type") == "Localhost"
    place = f"{path}.localhostProfile"
    if is_local and not profile.get("localhostProfile"):
        yield Mistake(place, "must be set when type is Localhost", REQUIRED)
    if not is_local and profile.get("localhostProfile"):
        yield Mistake(place, "may only be set when type is Localhost", FORBIDDEN)


_PROFILE: Final = Table(
    {
        "type": Text(choices=("Localhost", "RuntimeDefault", "Unconfined")),
        "localhostProfile": Text(),
    },
    required=("type",),
    checks=(_local_profile,),
)
IDENTITY: Final[dict[str, Shape]] = {
    "runAsUser": _ID,
    "runAsGroup": _ID,
    "runAsNonRoot": Flag(),
    "seccompProfile": _PROFILE,
    "appArmorProfile": _PROFILE,
}
SECURITY_CONTEXT: Final = Table(
    {
        **IDENTITY,
        "privileged": Flag(),
        "allowPrivilegeEscalation": Flag(),
        "readOnlyRootFilesystem": Flag(),
        "capabilities": Table({"add": Items(Text()), "drop": Items(Text())}),
    },
    checks=(_no_more_rights,),
)


def _resource_name(text: str) -> str | None:
    if text in _STANDARD or text.startswith("hugepages-"):
        return None
    if "/" in text and formats.label_key(text) is None:
        return None
    return f"must be {', '.join(_STANDARD)}, hugepages-<size> or <domain>/<name>"


def _amounts_fit(path: str, resources: Mapping[str, Any]) -> Iterator[Mistake]:
    """Compare requests with limits; what cannot be shared out must be asked for exactly."""
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, amount in requests.items():
        place, limit = f"{path}.requests.{name}", limits.get(name)
        is_exact = name not in _STANDARD
        if limit is None:
            if is_exact:
                yield Mistake(place, f"needs a limit of the same amount of {name}", REQUIRED)
            continue
        required, most = quantity.parse(amount), quantity.parse(limit)
        if required > most:
            text = f"must not be larger than the limit of {name}, {limit}"
            yield Mistake(place, text, value=amount)
        elif is_exact and required != most:
            yield Mistake(place, f"must be equal to the limit of {name}, {limit}", value=amount)
    for kind, amounts in (("requests", requests), ("limits", limits)):
        yield from _whole(f"{path}.{kind}", amounts)


def _whole(path: str, amounts: Mapping[str, Any]) -> Iterator[Mistake]:
    """Devices come in whole numbers."""
    for name, amount in amounts.items():
        if "/" in name and quantity.parse(amount).denominator != 1:
            yield Mistake(f"{path}.{name}", "must be a whole number", value=amount)


def unknown_claims(path: str, resources: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the resource claims that are named; Pods of ours have none, and no overlay adds one."""
    for index, claim in enumerate(resources.get("claims") or []):
        name = claim.get("name")
        yield Mistake(f"{path}.claims[{index}].name", f"there is no resource claim {name!r}")


_AMOUNTS: Final = Keyed(_resource_name, Amount())
RESOURCES: Final = Table(
    {"requests": _AMOUNTS, "limits": _AMOUNTS}, checks=(_amounts_fit, unknown_claims)
)

_PORTS: Final = Items(
    Table(
        {
            "containerPort": _PORT,
            "hostPort": Number(0, 65535),
            "name": Text(formats.PORT_NAME),
            "protocol": Text(choices=("TCP", "UDP", "SCTP")),
        },
        required=("containerPort",),
    ),
    key=("name",),
)
MAIN: Final[dict[str, Shape]] = {
    "command": Items(Text()),
    "args": Items(Text()),
    "env": ENV,
    "envFrom": ENV_FROM,
    "imagePullPolicy": Text(choices=_PULL_POLICIES),
    "volumeMounts": Items(_MOUNT),
    "lifecycle": LIFECYCLE,
    **PROBES,
}
"""What the main container and others have in common; mounts at one path replace each other."""

CONTAINER: Final = Table(
    {
        **MAIN,
        "volumeMounts": Items(_MOUNT, key=("mountPath",)),
        "name": Text(formats.DNS_LABEL),
        "image": Text(),
        "ports": _PORTS,
        "resources": RESOURCES,
        "securityContext": SECURITY_CONTEXT,
    },
    required=("name", "image"),
)
