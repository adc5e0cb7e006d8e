# SPDX-License-Identifier: Apache-2.0
"""The shape of a plan: what one pass over a resource is going to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, Self, TypedDict

from ..api.annotations import is_fenced, says_yes
from ..api.types import Manifest, Resource

Observed = Mapping[str, Any]
"""What ``observe`` returned, by the labels of ``references``: an object, a list, or None."""


class Kind(TypedDict):
    """A kind of object.

    Keys:
        api_version: e.g. ``apps/v1``.
        kind: e.g. ``StatefulSet``.
        named: where objects are selected, a regular expression for their names. It says whose they
            are, so that their owners do not count.
    """

    api_version: str
    kind: str
    named: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prune:
    """Which objects are deleted when they are not among the applied ones.

    Attributes:
        kinds: where to look.
        namespace: of the objects.
        labels: that they have.
        owner_uid: their owner's uid; empty when the resource is not in the cluster.
        unowned: whether objects that somebody owns are left out: what a playbook has created has
            no owner.
        unless_used_by: kinds whose objects keep alive what they mention by name.
    """

    kinds: Sequence[Kind]
    namespace: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    owner_uid: str = ""
    unowned: bool = False
    unless_used_by: Sequence[Kind] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, in this order: records, then objects and patches, then prune.

    Attributes:
        paused: the resource is to be left alone.
        invalid: what is wrong with the spec, naming the field; empty if nothing is.
        refused: what of the spec cannot be done, while everything else is; empty if nothing.
        waiting_for: what the update of Pods waits for; empty if nothing is held back.
        held: fields of the workload that the gate holds back.
        records: decisions to store on the resource before anything is created.
        objects: to apply, in order.
        create_only: ``Kind/name`` of those that are created but never changed.
        patches: objects of which only some fields are set: replicas, because the rest is held
            back; the owner of a cluster's credential; what is recorded on claims of log stores.
        partition: the lowest ordinal of the set's Pods that is changed.
        workload: ``Kind/name`` of the set's workload; empty for a cluster.
        prune: what is deleted; None to leave everything.
        generations: by ``Kind/name``, the generation at which a workload was observed of which
            Pods are to leave. If it has another one by now, somebody else has decided meanwhile,
            perhaps on the next leader, and it is left as it is.
    """

    paused: bool = False
    invalid: str = ""
    refused: str = ""
    waiting_for: str = ""
    held: Sequence[str] = ()
    records: Sequence[Manifest] = ()
    objects: Sequence[Manifest] = ()
    create_only: Sequence[str] = ()
    patches: Sequence[Manifest] = ()
    partition: int = 0
    workload: str = ""
    prune: Prune | None = None
    generations: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def variables(self) -> dict[str, Any]:
        """Return the plan as it travels through variables of Ansible."""
        fields = dataclasses.fields(self)
        return {spelled(field.name): getattr(self, field.name) for field in fields}

    @classmethod
    def read(cls, variables: Mapping[str, Any]) -> Self:
        """Return the plan that `variables` wrote; one that does nothing for an empty mapping."""
        fields = {spelled(field.name): field.name for field in dataclasses.fields(cls)}
        found = {name: variables[key] for key, name in fields.items() if key in variables}
        if prune := found.get("prune"):
            found["prune"] = Prune(**prune)
        return cls(**found)


def spelled(name: str) -> str:
    """Return how a field of a plan is spelled in variables of Ansible, e.g. ``waitingFor``."""
    first, *others = name.split("_")
    return "".join([first, *map(str.capitalize, others)])


def named(manifest: Mapping[str, Any]) -> str:
    """Return the short name of an object inside its namespace: ``Kind/name``."""
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


PAUSE_ANNOTATIONS = ("matrixorigin.io/paused", "matrixorigin.io/skip-sync")
"""A value other than empty, ``false`` or ``no`` pauses the resource."""


def is_paused(resource: Resource) -> bool:
    """Return whether an annotation asks to leave the resource alone; a fence does so, too."""
    return is_fenced(resource) or any(says_yes(resource, name) for name in PAUSE_ANNOTATIONS)
