# SPDX-License-Identifier: Apache-2.0
"""What a pass over a set observed, and what its steps did before it decides or reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..api.certificates import Certificate
from ..api.types import Manifest, References, Resource
from ..reporting.health import Health
from ..reporting.pod_problems import PodProblems
from ..reporting.roll import RollStep
from .stores_result import StoresResult


@dataclass(frozen=True, slots=True)
class GrownVolumes:
    """What the step that grows volumes did.

    Attributes:
        remade: it has replaced the StatefulSet by one with other claim templates.
        refused: why a claim may not grow; empty if nothing was refused.
    """

    remade: bool = False
    refused: str = ""

    @classmethod
    def read(cls, found: Mapping[str, object]) -> GrownVolumes:
        """Return it from the result of a task; empty when the step did not run."""
        return cls(remade=bool(found.get("remade")), refused=str(found.get("refused") or ""))


@dataclass(frozen=True, slots=True)
class SetObserved:
    """What is known of a set when a pass decides or reports.

    Attributes:
        complete: the references were observed; not so where that has failed.
        live: the set as it is in the cluster now; None if it is not there.
        workload: its StatefulSet or Deployment; None if there is none.
        pods: its Pods.
        pod_problems: what keeps Pods from existing or from starting.
        claims: the claims that carry its labels.
        references: what its ``deps`` name.
        dependency_workloads: of what ``deps`` name, by the labels of their references; a value of
            None is a workload that does not exist, a missing key one that was not asked for.
        bootstrap: the bootstrap ConfigMap of a LogSet, with its data.
        gossip: the ConfigMap that tells the stores of a LogSet their incarnations.
        bucket: the BucketClaim of a LogSet.
        cluster: the cluster that a LogSet which is deleted is a part of.
        certificate: what is known of the certificate for SQL; None if there is no such Secret.
        shards: the ConfigMap with the shards that the nodes of a DNSet served, with its data.
        stores: what the action on the stores of the set came to.
        volumes: what the step that grows volumes did.
        roll: what the step of the roll did.
        health: what the processes answered; nothing is wrong where they were not asked.
        now: the present, RFC 3339; empty where that does not matter.
    """

    complete: bool = False
    live: Resource | None = None
    workload: Manifest | None = None
    pods: Sequence[Manifest] = ()
    pod_problems: PodProblems = field(default_factory=PodProblems)
    claims: Sequence[Manifest] = ()
    references: References = field(default_factory=References)
    dependency_workloads: Mapping[str, Manifest | None] = field(default_factory=dict)
    bootstrap: Manifest | None = None
    gossip: Manifest | None = None
    bucket: Manifest | None = None
    cluster: Resource | None = None
    certificate: Certificate | None = None
    shards: Manifest | None = None
    stores: StoresResult = field(default_factory=StoresResult)
    volumes: GrownVolumes = field(default_factory=GrownVolumes)
    roll: RollStep = field(default_factory=RollStep)
    health: Health = field(default_factory=Health)
    now: str = ""
