# SPDX-License-Identifier: Apache-2.0
"""What the status of a LogSet, DNSet, CNSet, ProxySet or WebUI is computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api import names
from ..api.types import Resource
from .health import Health
from .pod_problems import PodProblems
from .reasons import Reason
from .roll import RollStep
from .rollout import UPDATE_PAUSED, Rollout, held_at


@dataclass(frozen=True, slots=True)
class Findings:
    """What a component knows of its Pods beyond what Kubernetes reports.

    Attributes:
        activity: what is under way, and its reason; None if nothing is.
        unserved: what Pods that are ready still wait for before they serve; empty if nothing.
        failure: what is broken and more important than Pods that do not start; None if nothing is.
        lost: why stores whose Pods are ready are of no use, by Pod.
        outlook: what will be done about stores that are down; empty if nothing.
        unreachable: why HAKeeper could not be asked or changed; empty if it could.
    """

    activity: tuple[Reason, str] | None = None
    unserved: str = ""
    failure: tuple[Reason, str] | None = None
    lost: Mapping[str, str] = field(default_factory=dict)
    outlook: str = ""
    unreachable: str = ""


@dataclass(frozen=True, slots=True)
class SetFacts:
    """Everything that the status of a set is computed from.

    Attributes:
        resource: the set's resource with its present status.
        rollout: how far the workload is.
        pods: the set's Pods.
        expected: names of the Pods that should exist, where names are predictable.
        paused: the resource is left alone.
        invalid: what is wrong with the spec; empty if nothing is.
        waiting: what an update waits for; empty if nothing is held back.
        failure: why the objects could not be applied; empty if they could.
        refused: what of the spec cannot be done, while all else is; empty if nothing.
        volumes: which volumes are growing; empty if none is.
        roll: what the step of the roll of a StatefulSet did.
        findings: what the component knows of the Pods.
        has_stores: whether the status lists stores that are up and down.
        health: what the processes behind ready Pods answered.
        problems: what keeps Pods from existing or from starting.
        certificate: why its certificate has to be renewed; None if it has not.
    """

    resource: Resource
    rollout: Rollout
    pods: Sequence[Mapping[str, Any]]
    expected: Sequence[str]
    paused: bool
    invalid: str
    waiting: str
    failure: str
    refused: str = ""
    volumes: str = ""
    roll: RollStep = field(default_factory=RollStep)
    findings: Findings = Findings()
    has_stores: bool = False
    health: Health = field(default_factory=Health)
    problems: PodProblems = field(default_factory=PodProblems)
    certificate: tuple[Reason, str] | None = None

    @property
    def generation(self) -> int:
        """Generation of the resource that this is about."""
        return int(self.resource["metadata"].get("generation") or 0)

    @property
    def held(self) -> str:
        """Return what is held back on purpose, or at which partition; empty if nothing."""
        if self.waiting:
            return self.waiting if self.waiting == UPDATE_PAUSED else ""
        return "" if self.roll.outdated else held_at(self.resource, self.rollout, self.noun)

    @property
    def noun(self) -> str:
        """What the Pods of this set are called."""
        return names.NOUNS[self.resource["kind"]]
