# SPDX-License-Identifier: Apache-2.0
"""The shape of a plan: what one pass over a resource is going to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from ..api.types import Manifest, Resource

Observed = Mapping[str, Any]
"""What ``observe`` returned, by the labels of ``references``: an object, a list, or None."""


class Kind(TypedDict):
    """A kind of object.

    Keys:
        api_version: e.g. ``apps/v1``.
        kind: e.g. ``StatefulSet``.
    """

    api_version: str
    kind: str


class Prune(TypedDict):
    """Which objects go when they are not among the applied ones.

    Keys:
        kinds: where to look.
        namespace: of the objects.
        labels: that they have.
        owner_uid: their owner's uid; empty when the resource is not in the cluster.
        unless_used_by: kinds whose objects keep alive what they mention by name.
    """

    kinds: list[Kind]
    namespace: str
    labels: Mapping[str, str]
    owner_uid: str
    unless_used_by: list[Kind]


class Plan(TypedDict):
    """What is to be done, in this order: records, then objects, then prune.

    Keys:
        paused: the resource is to be left alone.
        invalid: what is wrong with the spec, naming the field; empty if nothing is.
        refused: what of the spec cannot be done, while everything else is; empty if nothing.
        waitingFor: what the update of Pods waits for; empty if nothing is held back.
        held: fields of the workload that the gate holds back.
        records: decisions to store on the resource before anything is created.
        objects: to apply, in order.
        createOnly: ``Kind/name`` of those that are created but never changed.
        scale: objects of which only some fields are set: replicas, because the rest is held back;
            the owner of a cluster's credential; what claims of log stores tell about them.
        partition: the lowest ordinal of the set's Pods that is changed.
        workload: ``Kind/name`` of the set's workload; empty for a cluster.
        credential: name of the Secret to make for a cluster; empty if one was given.
        entrance: Service behind which SQL is answered; empty while none is.
        dashboard: Deployment of a cluster's dashboard; empty without one.
        rotation: the Secret with the root credential has changed since the database had it.
        metrics: Service through which the metric user of a cluster is made; empty for none.
        prune: what goes; None to leave everything.
    """

    paused: bool
    invalid: str
    refused: str
    waitingFor: str
    held: list[str]
    records: list[Manifest]
    objects: list[Manifest]
    createOnly: list[str]
    scale: list[Manifest]
    partition: int
    workload: str
    credential: str
    entrance: str
    dashboard: str
    rotation: bool
    metrics: str
    prune: Prune | None


def empty_plan() -> Plan:
    """Return a plan that does nothing."""
    return {
        "paused": False,
        "invalid": "",
        "refused": "",
        "waitingFor": "",
        "held": [],
        "records": [],
        "objects": [],
        "createOnly": [],
        "scale": [],
        "partition": 0,
        "workload": "",
        "credential": "",
        "entrance": "",
        "dashboard": "",
        "rotation": False,
        "metrics": "",
        "prune": None,
    }


def named(manifest: Mapping[str, Any]) -> str:
    """Return the short name of an object inside its namespace: ``Kind/name``."""
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


PAUSE_ANNOTATIONS = ("matrixorigin.io/paused", "matrixorigin.io/skip-sync")
"""A value other than empty, ``false`` or ``no`` pauses the resource."""


def is_paused(resource: Resource) -> bool:
    """Tell whether an annotation asks to leave the resource alone."""
    annotations = resource["metadata"].get("annotations") or {}
    values = (str(annotations.get(name) or "").lower() for name in PAUSE_ANNOTATIONS)
    return any(value not in {"", "false", "no"} for value in values)
