# SPDX-License-Identifier: Apache-2.0
"""What is asked of a resource of any kind.

A `Kind` is composed of three small protocols: a `Planner` for what a pass observes and does, a
`Judge` for what admission says, and a `Reporter` for what a pass reports. Each lists functions, and
leaves out what its kind has nothing to say about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from ..admission.pod_security import Level
from ..admission.shapes import Mistake, shortened
from ..api.types import Manifest, Resource
from ..reporting.applied import Applied
from ..reporting.report import Report
from .component import Reference
from .plans import Observed, Plan
from .removal import Removal

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


@dataclass(frozen=True, slots=True)
class PassStart:
    """What a pass starts from.

    Attributes:
        resource: with its status so far.
        observed: what its references led to; empty before anything was observed.
        play: what comes with the resource.
    """

    resource: Resource
    observed: Observed = field(default_factory=dict)
    play: Play = ALONE


@dataclass(frozen=True, slots=True)
class PassEnd(Generic[PlanT]):
    """What a pass came to.

    Attributes:
        resource: with its status so far.
        plan: what was decided; one that does nothing if that was not reached.
        observed: what was observed before.
        applied: what was applied; nothing if that was not reached.
        failure: why the pass failed; empty if it did not.
    """

    resource: Resource
    plan: PlanT
    observed: Observed = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner(Generic[PlanT]):
    """What a pass over a kind observes and does.

    Attributes:
        references: what to observe, by label.
        plan: decides what a pass does.
        removal: the steps that delete a resource; None where what belongs to it is owned by it and
            deleted with it.
    """

    references: Callable[[PassStart], dict[str, Reference]]
    plan: Callable[[PassStart], PlanT]
    removal: Callable[[PassStart], list[Removal]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What admission says of a kind beyond its schema, in functions of the resource.

    Attributes:
        mistakes: what is wrong with it; None where the schema says all.
        unsafe: what it asks for in its Pods beyond a level of Pod security.
        warnings: what a user should know about a valid one.
        warnings_of_change: the same, of one as it is to be beside what it was; None for a new one.
        deletion_warnings: what a user should know who deletes one.
    """

    mistakes: Callable[[Resource], list[Mistake]] | None = None
    unsafe: Callable[[Resource, Level], list[Mistake]] | None = None
    warnings: Callable[[Resource], Iterable[str]] | None = None
    warnings_of_change: Callable[[Resource, Resource | None], Iterable[str]] | None = None
    deletion_warnings: Callable[[Resource], Iterable[str]] | None = None

    def refuses(self, resource: Resource, level: Level) -> list[Mistake]:
        """Return what is wrong with a resource, its Pods included."""
        return [
            *(self.mistakes(resource) if self.mistakes else ()),
            *(self.unsafe(resource, level) if self.unsafe else ()),
        ]

    def warns(self, resource: Resource, old: Resource | None) -> list[str]:
        """Return what a user should know about a valid resource.

        Args:
            resource: as it is to be.
            old: as it was; None for a new one.
        """
        return [
            *(self.warnings(resource) if self.warnings else ()),
            *(self.warnings_of_change(resource, old) if self.warnings_of_change else ()),
        ]

    def warns_of_deletion(self, resource: Resource) -> list[str]:
        """Return what a user should know who deletes a resource."""
        return list(self.deletion_warnings(resource)) if self.deletion_warnings else []

    def invalid(
        self, resource: Resource, level: Level = Level.RESTRICTED, *, in_use: bool = False
    ) -> str:
        """Return as text what is wrong with a resource beyond its schema; empty if nothing is.

        Args:
            resource: the resource.
            level: of the Pod Security Standards, which its Pods must meet.
            in_use: whether it runs already, so that what is refused of new ones may stay.
        """
        found = self.refuses(resource, level)
        if in_use:
            found = [mistake for mistake in found if not mistake.at_creation]
        return "; ".join(map(str, shortened(found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter(Generic[PlanT]):
    """What a pass over a kind reports.

    Attributes:
        report: the status, the events, and when to check again.
        metrics: the requests to the metrics API of the operator that show a status; a status of
            None is that of a resource that is being deleted.
    """

    report: Callable[[PassEnd[PlanT]], Report]
    metrics: Callable[[Resource, Mapping[str, Any] | None], list[dict[str, Any]]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[PlanT]):
    """A kind of resource.

    Attributes:
        plan_type: what a plan for it looks like.
        planner: what a pass observes and does.
        reporter: what a pass reports.
        judge: what admission says.
    """

    plan_type: type[PlanT]
    planner: Planner[PlanT]
    reporter: Reporter[PlanT]
    judge: Judge = Judge()

    def references(self, resource: Resource, play: Play = ALONE) -> dict[str, Reference]:
        """Return what to observe, by label."""
        return self.planner.references(PassStart(resource, play=play))

    def plan(self, resource: Resource, observed: Observed, play: Play = ALONE) -> PlanT:
        """Decide what a pass does."""
        return self.planner.plan(PassStart(resource, observed, play))

    def removal(self, resource: Resource, observed: Observed) -> list[Removal]:
        """Return the steps that delete a resource, besides what it owns."""
        removal = self.planner.removal
        return removal(PassStart(resource, observed)) if removal else []

    def metrics(self, resource: Resource, status: Mapping[str, Any] | None) -> list[dict[str, Any]]:
        """Return the requests to the metrics API of the operator that show a status."""
        metrics = self.reporter.metrics
        return metrics(resource, status) if metrics else []
