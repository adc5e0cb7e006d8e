# SPDX-License-Identifier: Apache-2.0
"""What is asked of a resource of any kind, and the answers of sets."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Generic, TypeVar

from ..admission.pod_security import Level, asked_mistakes, pod_mistakes
from ..admission.shapes import Mistake, look_for, shortened
from ..admission.storage import shared_storage_mistakes
from ..api.timestamps import timestamp_now
from ..api.types import Manifest, References, Resource
from ..reporting.report import Applied, Report
from .component import Component, Reference
from .planning import plan_set
from .plans import Observed, Plan, named
from .policies import with_operator
from .reading import read_observed
from .references import find_references, set_references
from .removal import Removal, leaves_orphans
from .reports import report_on_set
from .volumes import Growth, growth

Scripts = Mapping[str, str]
"""Text of each start script by the name of its role (``logset``, ``cnset`` …)."""
PlanT = TypeVar("PlanT", bound=Plan)


@dataclass(frozen=True, slots=True)
class Play:
    """What comes with a resource in a play.

    Attributes:
        script: text of its start script.
        siblings: resources that the same playbook plays, which are not in the cluster.
        level: of the Pod Security Standards, which Pods must meet.
        operator: namespace of the operator's Pods; empty if it does not run in Pods, or unknown.
        image: of the operator, whose program Jobs run; empty if unknown.
    """

    script: str = ""
    siblings: Sequence[Manifest] = ()
    level: Level = Level.RESTRICTED
    operator: str = ""
    image: str = ""


ALONE: Final = Play()


class Kind(ABC, Generic[PlanT]):
    """A kind of resource.

    Attributes:
        plan_type: what a plan for it looks like.
    """

    plan_type: ClassVar[type[Plan]]

    @abstractmethod
    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label.

        Args:
            resource: the resource.
            play: what comes with it.
        """

    @abstractmethod
    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> PlanT:
        """Decide what a pass does.

        Args:
            resource: the resource.
            observed: what its references led to.
            play: what comes with it.
        """

    @abstractmethod
    def report(
        self, resource: Resource, plan: PlanT, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to.

        Args:
            resource: with its status so far.
            plan: what was decided.
            observed: what was observed before.
            applied: what apply returned; empty if it was not reached.
            failure: why the pass failed; empty if it did not.
        """

    @abstractmethod
    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the steps that delete a resource."""

    @abstractmethod
    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return every object that a resource leads to, children's children included.

        Raises:
            InvalidSpec: The resource or one of its children cannot be rendered.
        """

    @abstractmethod
    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a resource beyond its schema."""

    @abstractmethod
    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid resource."""

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the requests to the metrics API of the operator that show a status.

        Args:
            resource: the resource.
            status: of this pass; None for a resource that is being deleted.
        """
        del resource, status
        return []

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what a resource asks for in its Pods beyond a level of Pod security."""
        del resource, level
        return []

    def deletion_warnings(self, resource: Resource) -> list[str]:
        """Return what a user should know who deletes a resource."""
        del resource
        return []

    def invalid(
        self, resource: Resource, level: Level = Level.RESTRICTED, *, in_use: bool = False
    ) -> str:
        """Return as text what is wrong with a resource beyond its schema; empty if nothing is.

        Args:
            resource: the resource.
            level: of the Pod Security Standards, which its Pods must meet.
            in_use: whether it runs already, so that what is refused of new ones may stay.
        """
        found = [*self.mistakes(resource), *self.unsafe(resource, level)]
        if in_use:
            found = [mistake for mistake in found if not mistake.at_creation]
        return "; ".join(map(str, shortened(found)))


class OwningKind(Kind[PlanT]):
    """A kind that owns what its passes create: not known before, and deleted with its owner."""

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return no step: what belongs to it is deleted with it."""
        del resource, observed
        return []

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return nothing: what it leads to depends on what a pass finds."""
        del resource, scripts, references
        return []


class SetKind(Kind[Plan]):
    """A set of Pods of one component."""

    plan_type = Plan

    def __init__(self, component: Component) -> None:
        self._component = component

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        return set_references(self._component, resource, play.siblings)

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> Plan:
        """Decide what a pass does."""
        played = find_references(resource, play.siblings) if play.siblings else None
        # A workload may be missing for a moment, while it is created anew around its Pods.
        seen = read_observed(observed)
        in_use = bool(seen.workload or seen.pods or seen.claims)
        invalid = self.invalid(resource, play.level, in_use=in_use)
        plan = plan_set(self._component, resource, seen, play.script, played, invalid)
        return _admitting_operator(resource, play.operator, _within(play.level, plan))

    def report(
        self, resource: Resource, plan: Plan, observed: Observed, applied: Applied, failure: str
    ) -> Report:
        """Report what a pass came to."""
        seen, now = read_observed(observed), timestamp_now()
        return report_on_set(self._component, resource, plan, seen, applied, failure, now)

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the step that deletes a set."""
        if leaves_orphans(resource):
            return []
        component, seen = self._component, read_observed(observed)
        return [component.removal(resource, seen), *component.afterwards(resource, seen)]

    def render(
        self, resource: Resource, scripts: Scripts, references: References
    ) -> list[Manifest]:
        """Return every object of a set."""
        script = scripts.get(self._component.kind.lower(), "")
        return self._component.render(resource, script, references)

    def mistakes(self, resource: Resource) -> list[Mistake]:
        """Return what is wrong with a set beyond its schema."""
        spec = resource.get("spec")
        if not isinstance(spec, Mapping):
            return []
        deps = resource.get("deps")
        external = deps.get("externalLogSet") if isinstance(deps, Mapping) else None
        storage = external.get("sharedStorage") if isinstance(external, Mapping) else None
        path, overlay = "deps.externalLogSet.sharedStorage", spec.get("overlay") or {}
        return look_for(
            itertools.chain(
                self._component.mistakes("spec", spec),
                self._component.resource_mistakes(resource),
                shared_storage_mistakes(path, storage, overlay),
            )
        )

    def unsafe(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what a set asks for in its Pods beyond a level of Pod security."""
        spec, deps = resource.get("spec"), resource.get("deps")
        external = deps.get("externalLogSet") if isinstance(deps, Mapping) else None
        asked = (("spec", spec), ("deps.externalLogSet", external))
        return look_for(
            mistake
            for path, one in asked
            if isinstance(one, Mapping)
            for mistake in asked_mistakes(path, one, level)
        )

    def warnings(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid set."""
        spec, before = resource.get("spec"), (old or {}).get("spec") or {}
        if not isinstance(spec, Mapping):
            return []
        component = self._component
        changes = component.warnings_of_change("spec", spec, before)
        return [
            *component.version_warnings(spec),
            *component.warnings("spec", spec),
            *(() if _is_part(resource) else changes),
        ]

    def deletion_warnings(self, resource: Resource) -> list[str]:
        """Return what a user should know who deletes a set."""
        spec = resource.get("spec")
        if not isinstance(spec, Mapping) or _is_part(resource):
            return []
        return list(self._component.deletion_warnings("spec", spec))

    def growth(self, resource: Resource, observed: Observed) -> Growth:
        """Return what is to be done about the volumes of a set."""
        seen = read_observed(observed)
        return growth(resource, self._component.data_volume, seen.workload, seen.claims)


def _admitting_operator(resource: Resource, namespace: str, plan: Plan) -> Plan:
    """Admit the operator to a resource that it reconciles: one that is in the cluster.

    What a playbook plays is none, wherever that playbook runs.
    """
    if not resource["metadata"].get("uid"):
        return plan
    return replace(plan, objects=with_operator(plan.objects, namespace))


def _within(level: Level, plan: Plan) -> Plan:
    """Refuse a plan whose Pods are beyond a level, whatever led to them.

    What a set refers to has a say in its Pods, too: the LogSet's shared storage.
    """
    found = [
        str(mistake)
        for one in plan.objects
        if named(one) == plan.workload
        for mistake in pod_mistakes(plan.workload, one["spec"]["template"], level)
    ]
    return replace(plan, invalid="; ".join(found), objects=(), records=()) if found else plan


def _is_part(resource: Resource) -> bool:
    """Return whether a set belongs to a cluster, of which its user has been warned."""
    owners = resource["metadata"].get("ownerReferences") or []
    return any(owner.get("controller") for owner in owners)
