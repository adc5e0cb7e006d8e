# SPDX-License-Identifier: Apache-2.0
"""What a kind of set brings of its own; everything else is the same for all of them.

Each component's package has one `Component`, in ``component.py``, which says at a glance what is
particular to it, in three small protocols: a `SetRenderer` for what a set leads to, a `SetJudge`
for admission, and a `SetReporter` for its status. Each lists functions, and leaves out what is as
with every set. ``kinds.py`` lists the components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..admission.sets import set_mistakes
from ..admission.shapes import Mistake
from ..api import names
from ..api.types import Manifest, References, Resource
from ..reporting.events import Occurrence
from ..reporting.health import Health
from ..reporting.roll import RollStep
from ..reporting.rollout import Rollout
from ..reporting.set_facts import Findings
from .observed import SetObserved
from .plans import Plan
from .removal import Removal
from .stores_result import StoresResult

Reference = dict[str, Any]
"""Argument of ``observe``: api_version, kind, namespace, and either name or labels."""
Spec = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SetStart:
    """What a pass over a set is decided by.

    Attributes:
        resource: the set.
        observed: what its references led to, and what the steps before did; nothing where a set
            is rendered by its spec alone.
        script: text of the component's start script.
        played: resources that its ``deps`` name, where they are not in the cluster but played by
            the same playbook; None where they are in the cluster.
    """

    resource: Resource
    observed: SetObserved = field(default_factory=SetObserved)
    script: str = ""
    played: References | None = None

    @property
    def dependencies(self) -> References:
        """The resources that its ``deps`` name, as far as they exist."""
        return self.played or self.observed.references


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
    def health(self) -> Health:
        """What the processes answered; nothing is wrong where they were not asked."""
        return self.observed.health

    @property
    def roll(self) -> RollStep:
        """What the step of the roll did."""
        return self.observed.roll


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRenderer:
    """What sets of a kind lead to.

    Attributes:
        render: returns every object of a set, in the order in which to apply them, by its spec
            alone. It raises InvalidSpec for one that cannot be rendered.
        render_observed: the same by what was observed, too: a plan with the objects, records,
            patches and ``create_only``.
        references: what to observe besides the workload, the Pods and what ``deps`` names.
        hold: what changes of Pods wait for besides dependencies; empty if nothing.
        removal: the steps that delete a set.
    """

    render: Callable[[SetStart], list[Manifest]]
    render_observed: Callable[[SetStart], Plan] | None = None
    references: Callable[[Resource], dict[str, Reference]] | None = None
    hold: Callable[[Resource, SetObserved], str] | None = None
    removal: Callable[[Resource, SetObserved], list[Removal]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetJudge:
    """What admission says of sets of a kind.

    Its functions take the path of a spec, e.g. ``spec`` or ``spec.tn``, and the spec as the API
    server stores it.

    Attributes:
        mistakes: what is wrong with a spec beyond its schema.
        data_mistakes: what is wrong with a set on the data that its status tells of.
        names_version: whether its image is MatrixOne's, whose version has to be known.
        warnings: what a user should know about a spec that is valid.
        warnings_of_change: what a user should know about what a valid spec newly asks for: they
            take the spec as it was, too, which is empty for a new one.
        deletion_warnings: what a user should know who deletes what has a spec.
    """

    mistakes: Callable[[str, Spec], Iterator[Mistake]] = set_mistakes
    data_mistakes: Callable[[Resource], Iterator[Mistake]] | None = None
    names_version: bool = True
    warnings: Sequence[Callable[[str, Spec], Iterator[str]]] = ()
    warnings_of_change: Sequence[Callable[[str, Spec, Spec], Iterator[str]]] = ()
    deletion_warnings: Sequence[Callable[[str, Spec], Iterator[str]]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReporter:
    """What a pass over a set reports that only its kind has.

    Attributes:
        findings: what is known of the Pods beyond what Kubernetes reports.
        status: the fields of the status; None leaves one out.
        events: what has happened in this pass.
        requeue: when to check again, empty for not at all; takes when to check again for what all
            kinds have in common.
    """

    findings: Callable[[SetPass], Findings] | None = None
    status: Callable[[SetPass], dict[str, Any]] | None = None
    events: Callable[[SetPass], list[Occurrence]] | None = None
    requeue: Callable[[SetPass, str], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A kind of set.

    Attributes:
        kind: of its resources.
        renderer: what a set leads to.
        judge: what admission says.
        reporter: what a pass reports.
        period: when to check again while something is not up to date; changes of what is watched
            come sooner.
        data_volume: the field of the spec that describes the data volume of its Pods, if they have
            claims of their own.
        has_stores: whether its status lists stores that are up and down.
        stores: what the action on its stores comes to.
        client_port: of the Service that is named like the workload; None without one.
    """

    kind: str
    renderer: SetRenderer
    judge: SetJudge = SetJudge()
    reporter: SetReporter = SetReporter()
    period: str = "10s"
    data_volume: str = ""
    has_stores: bool = False
    stores: type[StoresResult] = StoresResult
    client_port: int | None = None
