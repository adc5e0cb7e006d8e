# SPDX-License-Identifier: Apache-2.0
"""The overlay's fragments of a Pod, as Kubernetes' core validation takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import formats
from .containers import CONTAINER, IDENTITY, MAIN, SECURITY_CONTEXT
from .shapes import FORBIDDEN, REQUIRED, Items, Keyed, Mistake, Number, Shape, Table, Text

_LARGEST_ANNOTATIONS: Final = 256 * 1024
_MAIN_CONTAINER: Final = "main"


def _one_source(path: str, volume: Mapping[str, Any]) -> Iterator[Mistake]:
    sources = sorted(name for name in volume if name != "name" and volume[name] is not None)
    if len(sources) > 1:
        yield Mistake(path, f"{' and '.join(sources)} are mutually exclusive", FORBIDDEN, sources)


_VOLUMES: Final = Items(
    Table(
        {
            "name": Text(formats.DNS_LABEL),
            "persistentVolumeClaim": Table({"claimName": Text()}, required=("claimName",)),
            "configMap": Table({"name": Text(formats.SUBDOMAIN)}),
            "secret": Table({"secretName": Text(formats.SUBDOMAIN)}),
            "hostPath": Table({"path": Text()}, required=("path",)),
        },
        required=("name",),
        checks=(_one_source,),
    ),
    key=("name",),
)
_CLAIMS: Final = Items(
    Table(
        {
            "metadata": Table({"name": Text(formats.DNS_LABEL)}, required=("name",)),
            "spec": Table(
                {
                    "accessModes": Items(
                        Text(
                            choices=(
                                "ReadWriteOnce",
                                "ReadOnlyMany",
                                "ReadWriteMany",
                                "ReadWriteOncePod",
                            )
                        )
                    ),
                    "resources": Table({"requests": Table(required=("storage",))}, ("requests",)),
                    "storageClassName": Text(),
                },
                required=("accessModes", "resources"),
            ),
        },
        required=("metadata", "spec"),
    )
)


def _requirement(path: str, requirement: Mapping[str, Any]) -> Iterator[Mistake]:
    """Operators with and without values."""
    operator, values = requirement["operator"], requirement.get("values") or []
    if operator in {"In", "NotIn"} and not values:
        yield Mistake(f"{path}.values", f"must be set when operator is {operator}", REQUIRED)
    if operator in {"Exists", "DoesNotExist"} and values:
        text = f"may not be set when operator is {operator}"
        yield Mistake(f"{path}.values", text, FORBIDDEN, values)
    if operator in {"Gt", "Lt"} and len(values) != 1:
        text = f"must have a single element when operator is {operator}"
        yield Mistake(f"{path}.values", text, value=values)


def _requirements(*operators: str) -> Items:
    return Items(
        Table(
            {
                "key": Text(formats.label_key),
                "operator": Text(choices=operators),
                "values": Items(Text()),
            },
            required=("key", "operator"),
            checks=(_requirement,),
        )
    )


_SELECTOR: Final = Table(
    {
        "matchLabels": Keyed(formats.label_key, Text(formats.LABEL_VALUE)),
        "matchExpressions": _requirements("In", "NotIn", "Exists", "DoesNotExist"),
    }
)
_NODES: Final = _requirements("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_NODE_TERM: Final = Table({"matchExpressions": _NODES})
_POD_TERM: Final = Table(
    {"topologyKey": Text(formats.label_key), "labelSelector": _SELECTOR},
    required=("topologyKey",),
)
_WEIGHT: Final = Number(1, 100)
_POD_AFFINITY: Final = Table(
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Items(_POD_TERM),
        "preferredDuringSchedulingIgnoredDuringExecution": Items(
            Table(
                {"weight": _WEIGHT, "podAffinityTerm": _POD_TERM},
                required=("weight", "podAffinityTerm"),
            )
        ),
    }
)
_AFFINITY: Final = Table(
    {
        "nodeAffinity": Table(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": Table(
                    {"nodeSelectorTerms": Items(_NODE_TERM)}, required=("nodeSelectorTerms",)
                ),
                "preferredDuringSchedulingIgnoredDuringExecution": Items(
                    Table(
                        {"weight": _WEIGHT, "preference": _NODE_TERM},
                        required=("weight", "preference"),
                    )
                ),
            }
        ),
        "podAffinity": _POD_AFFINITY,
        "podAntiAffinity": _POD_AFFINITY,
    }
)


def _toleration(path: str, toleration: Mapping[str, Any]) -> Iterator[Mistake]:
    operator = toleration.get("operator") or "Equal"
    if not toleration.get("key") and operator != "Exists":
        yield Mistake(f"{path}.operator", "must be Exists when key is empty", value=operator)
    if operator == "Exists" and toleration.get("value"):
        yield Mistake(f"{path}.value", "must be empty when operator is Exists", FORBIDDEN)
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        text = "must be NoExecute when tolerationSeconds is set"
        yield Mistake(f"{path}.effect", text, value=toleration.get("effect"))


_TOLERATIONS: Final = Items(
    Table(
        {
            "key": Text(lambda text: formats.label_key(text) if text else None),
            "operator": Text(choices=("", "Equal", "Exists", "Lt", "Gt")),
            "value": Text(),
            "effect": Text(choices=("", "NoSchedule", "PreferNoSchedule", "NoExecute")),
            "tolerationSeconds": Number(-(1 << 63)),
        },
        checks=(_toleration,),
    )
)


def _spread(path: str, constraint: Mapping[str, Any]) -> Iterator[Mistake]:
    if constraint.get("minDomains") and constraint["whenUnsatisfiable"] != "DoNotSchedule":
        text = "may only be set when whenUnsatisfiable is DoNotSchedule"
        yield Mistake(f"{path}.minDomains", text, FORBIDDEN)


_SPREAD: Final = Items(
    Table(
        {
            "maxSkew": Number(1, (1 << 31) - 1),
            "topologyKey": Text(formats.label_key),
            "whenUnsatisfiable": Text(choices=("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": _SELECTOR,
            "minDomains": Number(1, (1 << 31) - 1),
        },
        required=("maxSkew", "topologyKey", "whenUnsatisfiable"),
        checks=(_spread,),
    ),
    key=("topologyKey", "whenUnsatisfiable"),
)


def _not_main(path: str, container: Mapping[str, Any]) -> Iterator[Mistake]:
    if container["name"] == _MAIN_CONTAINER:
        yield Mistake(f"{path}.name", "main is the operator's own container", FORBIDDEN, "main")


_CONTAINERS: Final = Items(
    Table(CONTAINER.fields, required=CONTAINER.required, checks=(*CONTAINER.checks, _not_main)),
    key=("name",),
)


def _other_names(path: str, overlay: Mapping[str, Any]) -> Iterator[Mistake]:
    """Containers of both kinds share their names."""
    taken = {container["name"] for container in overlay.get("sidecarContainers") or []}
    for index, container in enumerate(overlay.get("initContainers") or []):
        if container["name"] in taken:
            text = f"a sidecar container is called {container['name']}, too"
            yield Mistake(f"{path}.initContainers[{index}].name", text, value=container["name"])


ANNOTATIONS: Final = Keyed(lambda key: formats.label_key(key.lower()), Text(), _LARGEST_ANNOTATIONS)
"""Annotations of any object."""
_MAIN: Final[dict[str, Shape]] = {**MAIN, "mainContainerSecurityContext": SECURITY_CONTEXT}
OVERLAY: Final = Table(
    {
        **_MAIN,
        "volumes": _VOLUMES,
        "volumeClaims": _CLAIMS,
        "initContainers": _CONTAINERS,
        "sidecarContainers": _CONTAINERS,
        "serviceAccountName": Text(formats.SUBDOMAIN),
        "priorityClassName": Text(formats.SUBDOMAIN),
        "runtimeClassName": Text(formats.SUBDOMAIN),
        "securityContext": Table({**IDENTITY, "fsGroup": Number(0, (1 << 31) - 1)}),
        "imagePullSecrets": Items(Table({"name": Text()})),
        "affinity": _AFFINITY,
        "tolerations": _TOLERATIONS,
        "hostAliases": Items(
            Table(
                {"ip": Text(formats.address), "hostnames": Items(Text(formats.SUBDOMAIN))},
                required=("ip",),
            )
        ),
        "topologySpreadConstraints": _SPREAD,
        "dnsConfig": Table(
            {
                "nameservers": Items(Text(formats.address), longest=3),
                "searches": Items(Text(), longest=32),
                "options": Items(Table({"name": Text()}, required=("name",))),
            }
        ),
        "podLabels": Keyed(formats.label_key, Text(formats.LABEL_VALUE)),
        "podAnnotations": ANNOTATIONS,
    },
    checks=(_other_names,),
)
"""The overlay of a set."""

CONTAINER_OVERLAY: Final = Table(_MAIN)
"""The overlay of a container beside the main one."""
