# SPDX-License-Identifier: Apache-2.0
"""What a kind of set brings of its own; everything else is the same for all of them.

Each component's package has one subclass of `Component`, in ``component.py``, which says at a
glance what is particular to it. ``kinds.py`` lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..admission.sets import set_mistakes, version_warnings
from ..admission.shapes import Mistake
from ..api import names
from ..api.types import Manifest, References, Resource
from ..reporting.events import Occurrence
from ..reporting.health import Health
from ..reporting.roll import RollStep
from ..reporting.rollout import Rollout
from ..reporting.set_facts import Findings
from . import tls
from .observed import SetObserved
from .plans import Plan
from .removal import Removal, claims_named, removal_of_set

Reference = dict[str, Any]
"""Argument of ``observe``: api_version, kind, namespace, and either name or labels."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a set leads to in a pass.

    Attributes:
        objects: to apply, in order.
        records: decisions to store on the resource before anything is created.
        create_only: ``Kind/name`` of objects that are created but never changed.
        patches: objects of which only some fields are set.
    """

    objects: Sequence[Manifest]
    records: Sequence[Manifest] = ()
    create_only: Sequence[str] = ()
    patches: Sequence[Manifest] = ()


@dataclass(frozen=True, slots=True)
class SetPass:
    """What a pass over a set observed, decided and did.

    Attributes:
        resource: the set, with its status so far.
        plan: what was decided.
        observed: what was observed before.
        rollout: how far its workload is.
        now: the present, RFC 3339.
        serves: whether it is reported to be Ready.
    """

    resource: Resource
    plan: Plan
    observed: SetObserved
    rollout: Rollout
    now: str
    serves: bool = False

    @property
    def label_selector(self) -> str:
        """The labels by which the workload selects its Pods, for the scale subresource."""
        metadata = self.resource["metadata"]
        kind, name, namespace = self.resource["kind"], metadata["name"], metadata["namespace"]
        labels = names.selector_labels(kind, name, namespace)
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))

    @property
    def pods(self) -> Sequence[Mapping[str, Any]]:
        """The Pods of the set."""
        return self.observed.pods

    @property
    def stores(self) -> Mapping[str, Any]:
        """What the action on the stores of the set returned; empty when it did not run."""
        return self.observed.stores

    @property
    def health(self) -> Health:
        """What the processes answered; nothing is wrong where they were not asked."""
        return self.observed.health

    @property
    def roll(self) -> RollStep:
        """What the step of the roll did."""
        return self.observed.roll


class Component(ABC):
    """A kind of set.

    Attributes:
        kind: of its resources.
        period: when to check again while something is not up to date; changes of what is watched
            come sooner.
        data_volume: the field of the spec that describes the data volume of its Pods, if they have
            claims of their own.
        has_stores: whether its status lists stores that are up and down.
        client_port: of the Service that is named like the workload; None without one.
    """

    kind: ClassVar[str]
    period: ClassVar[str] = "10s"
    data_volume: ClassVar[str] = ""
    has_stores: ClassVar[bool] = False
    client_port: ClassVar[int | None] = None

    @abstractmethod
    def render(self, resource: Resource, script: str, references: References) -> list[Manifest]:
        """Return every object of a set, in the order in which to apply them, by its spec alone.

        Raises:
            InvalidSpec: The set cannot be rendered.
        """

    def render_observed(
        self, resource: Resource, observed: SetObserved, script: str, references: References
    ) -> Rendered:
        """Return what a set leads to, by what was observed, too.

        Raises:
            InvalidSpec: The set cannot be rendered.
        """
        del observed
        return Rendered(self.render(resource, script, references))

    def references(self, resource: Resource) -> dict[str, Reference]:
        """Return what to observe besides the workload, the Pods and what ``deps`` names."""
        del resource
        return {}

    def hold(self, resource: Resource, observed: SetObserved) -> str:
        """Return what changes of Pods wait for besides dependencies; empty if nothing."""
        del resource, observed
        return ""

    def findings(self, seen: SetPass) -> Findings:
        """Return what is known of the Pods beyond what Kubernetes reports."""
        del seen
        return Findings()

    def status(self, seen: SetPass, findings: Findings) -> dict[str, Any]:
        """Return the fields of the status that only this kind has; None leaves one out."""
        del findings
        if self.client_port is None or not seen.rollout.exists:
            return {}
        metadata = seen.resource["metadata"]
        base = names.base_name(self.kind, metadata["name"])
        address = {"host": f"{base}.{metadata['namespace']}", "port": self.client_port}
        return {**address, "tls": tls.status(seen.resource, seen.observed.certificate)}

    def events(self, seen: SetPass) -> list[Occurrence]:
        """Return the events that only this kind has."""
        del seen
        return []

    def requeue(self, seen: SetPass, otherwise: str) -> str:
        """Return when to check again; empty for not at all.

        Args:
            seen: what the pass came to.
            otherwise: when to check again for what all kinds have in common.
        """
        del seen
        return otherwise

    def removal(self, resource: Resource, observed: SetObserved) -> Removal:
        """Return how a set is deleted.

        Args:
            resource: the set.
            observed: what its references led to, where that matters.
        """
        metadata, spec = resource["metadata"], resource.get("spec") or {}
        if not self.data_volume:
            return removal_of_set(resource)
        claims = claims_named(self.kind, metadata["name"], spec, observed.workload)
        return removal_of_set(resource, claims)

    def afterwards(self, resource: Resource, observed: SetObserved) -> list[Removal]:
        """Return the steps that follow when the Pods of a set that is deleted are gone."""
        del resource, observed
        return []

    def mistakes(self, path: str, spec: Mapping[str, Any]) -> Iterator[Mistake]:
        """Yield what is wrong with a spec beyond its schema.

        Args:
            path: of the spec, e.g. ``spec`` or ``spec.tn``.
            spec: as the API server stores it.
        """
        yield from set_mistakes(path, spec)

    def resource_mistakes(self, resource: Resource) -> Iterator[Mistake]:
        """Yield what is wrong with a set beyond its spec: its spec beside its status, say.

        Args:
            resource: the set, with a spec.
        """
        del resource
        yield from ()

    def warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know about a spec that is valid."""
        del path, spec
        yield from ()

    def warnings_of_change(
        self, path: str, spec: Mapping[str, Any], before: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield what a user should know about what a valid spec newly asks for.

        Args:
            path: of the spec.
            spec: as it is to be.
            before: as it was; empty for a new one.
        """
        del path, spec, before
        yield from ()

    def deletion_warnings(self, path: str, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know who deletes what has a spec."""
        del path, spec
        yield from ()

    def version_warnings(self, spec: Mapping[str, Any]) -> Iterator[str]:
        """Yield what a user should know about the version of MatrixOne that a spec names."""
        yield from version_warnings(spec)
