# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round over the log stores of a set: look, replace one that is lost, let one leave.

A round takes one step at most and records it before it acts, so that the next round goes on from
there, whoever makes it. It ends by its deadline: what could not be asked stays unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..module_utils.clients.matrixone import (
    ClusterDetails,
    ClusterState,
    Deadline,
    HAKeeper,
    MatrixOneError,
    shard_health,
)
from ..module_utils.compute import pods as cn_pods
from ..module_utils.logservice import failover as log_stores
from ..module_utils.logservice import health
from ..module_utils.logservice import pods as log_pods
from ..module_utils.logservice.failover import Step, Verdict
from ..module_utils.logservice.health import Question
from ..module_utils.logservice.pods import Record, Surroundings
from ..module_utils.logservice.scaling import ScaleIn, scale_in
from ..module_utils.logservice.view import HEARD_SECONDS, Shard, View, ordinal_of_pod
from ..module_utils.reporting.events import Occurrence, occurrence
from ..module_utils.workload import nodes

Json = Mapping[str, Any]

_SECONDS = {Question.NEEDED: 3.5, Question.GLANCE: 0.5}


class Kubernetes(Protocol):
    """What a round needs of Kubernetes."""

    def nodes(self, wanted: Iterable[str]) -> nodes.Nodes:
        """Return nodes by name, as far as they may be read; None for one that does not exist."""

    def claims(self) -> Sequence[Json]:
        """Return the claims of the set."""

    def volumes(self, claims: Sequence[Json]) -> Sequence[Json]:
        """Return the PersistentVolumes of claims, as far as they can be read."""

    def gossip(self) -> str:
        """Return the incarnations as the stores' configuration has them."""

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations of the LogSet; None removes one."""

    def keep(self, volume: Json) -> str:
        """Make a PersistentVolume outlive its claim; return why that cannot be, or nothing."""

    def delete(self, found: Json, *, force: bool = False) -> None:
        """Delete this very object; by force without waiting for its node."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a round begins with.

    Attributes:
        resource: the LogSet as it is in the cluster now.
        workload: its StatefulSet.
        pods: its Pods.
        now: the present, Unix time.
    """

    resource: Json
    workload: Json
    pods: Sequence[Json]
    now: float

    @property
    def present(self) -> int:
        """Replicas of the workload."""
        return int((self.workload.get("spec") or {}).get("replicas") or 0)

    @property
    def wanted(self) -> int:
        """Replicas that the spec asks for."""
        return int((self.resource.get("spec") or {}).get("replicas") or 0)


@dataclass(slots=True)
class Outcome:
    """How a round ended.

    Attributes:
        asked: whether HAKeeper was asked.
        view: what it said; None when it did not answer.
        problem: why it did not.
        verdict: what was found out and done about stores that are down.
        scale: how many stores the workload keeps for now.
        incarnations: the incarnations as they are recorded now.
        events: what happened.
        empty: Pods whose store has lost its data.
        changed: whether anything was.
    """

    asked: bool = False
    view: View | None = None
    problem: str = ""
    verdict: Verdict = field(default_factory=lambda: Verdict(Step.NOTHING))
    scale: ScaleIn | None = None
    incarnations: dict[str, int] = field(default_factory=dict)
    events: list[Occurrence] = field(default_factory=list)
    empty: set[str] = field(default_factory=set)
    changed: bool = False


class Round:
    """One round; `run` is called once.

    Args:
        situation: what it begins with.
        kubernetes: how objects are read and changed.
        deadline: when it ends.
    """

    def __init__(self, situation: Situation, kubernetes: Kubernetes, deadline: Deadline) -> None:
        self._situation, self._kubernetes, self._deadline = situation, kubernetes, deadline
        self._record = log_pods.recorded(situation.resource)
        self._outcome = Outcome(incarnations=log_pods.incarnations(situation.resource))
        self._nodes: nodes.Nodes = {}

    def run(self) -> Outcome:
        """Look, decide, act."""
        situation, outcome = self._situation, self._outcome
        question = health.question(
            situation.resource, situation.workload, situation.pods, situation.now
        )
        if question is not Question.NONE:
            self._ask(_SECONDS[question])
        policy = log_pods.policy_of(situation.resource)
        stores = self._stores(policy)
        repair, claims = None, []
        if self._record is not None:
            claims = list(self._kubernetes.claims())
            gossip = self._kubernetes.gossip()
            repair = self._record.state(situation.pods, claims, gossip)
        verdict = log_stores.next_repair(stores, outcome.view, policy, repair, situation.now)
        outcome.verdict = verdict
        self._act(verdict, claims)
        self._scale()
        return outcome

    def _ask(self, seconds: float) -> None:
        addresses = cn_pods.log_addresses(cn_pods.live_pods(self._situation.pods))
        self._outcome.asked = True
        if not addresses:
            self._outcome.problem = "no log store is running"
            return
        try:
            with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
                details = hakeeper.cluster_details(self._deadline.within(seconds))
                state = hakeeper.cluster_state(self._deadline.within(seconds))
        except MatrixOneError as error:
            self._outcome.problem = str(error)
            return
        self._outcome.view = view_of(details, state)

    def _stores(self, policy: log_stores.Policy) -> list[log_stores.LogStore]:
        situation, view = self._situation, self._outcome.view
        self._outcome.empty = health.empty_stores(situation.pods, view, situation.now)
        since = health.down_since(
            situation.resource,
            situation.pods,
            health.expected_pods(situation.resource, situation.present),
            self._outcome.empty,
            situation.now,
        )
        around = Surroundings(situation.pods, situation.workload)
        overdue = [
            pod
            for pod, moment in since.items()
            if moment is not None and moment + policy.timeout <= situation.now
        ]
        if overdue or self._record is not None:
            around = self._looked_around(overdue)
        return [log_pods.log_store(pod, moment, around) for pod, moment in since.items()]

    def _looked_around(self, overdue: Sequence[str]) -> Surroundings:
        """Look at nodes and volumes, which only matters when a store is to be replaced."""
        situation = self._situation
        waiting = [
            pod["metadata"]["name"]
            for pod in situation.pods
            if pod["metadata"]["name"] in overdue and not nodes.node_name(pod)
        ]
        claims = self._kubernetes.claims() if waiting else ()
        volumes = {
            pod: self._kubernetes.volumes(log_pods.claims_of(pod, claims)) for pod in waiting
        }
        names = {nodes.node_name(pod) for pod in situation.pods} - {""}
        for volume in itertools.chain(*volumes.values()):
            names |= nodes.nodes_of(volume)
        self._nodes = self._kubernetes.nodes(names)
        return Surroundings(situation.pods, situation.workload, self._nodes, volumes)

    def _act(self, verdict: Verdict, claims: Sequence[Json]) -> None:
        record = self._record
        if verdict.step is Step.RECORD:
            self._begin(verdict.pod)
        elif verdict.step is Step.TAKE_AWAY and record is not None:
            self._take_away(record, claims)
        elif verdict.step in {Step.FINISH, Step.CALL_OFF} and record is not None:
            self._annotate({log_pods.ANNOTATION_REPAIR: None})
            reason = "FailedOver" if verdict.step is Step.FINISH else "FailoverCalledOff"
            note = f"{verdict.message} (incarnation {record.incarnation})"
            note = note if verdict.step is Step.FINISH else verdict.message
            self._outcome.events.append(occurrence(reason, note, action="FailOver"))

    def _begin(self, pod: str) -> None:
        """Record what is going to be replaced by what, before anything is touched."""
        situation, outcome = self._situation, self._outcome
        claims = log_pods.claims_of(pod, self._kubernetes.claims())
        old = self._pod(pod)
        ordinal = ordinal_of_pod(pod)
        number = log_stores.next_incarnation(ordinal, outcome.incarnations, outcome.view)
        if number > log_stores.MAX_INCARNATION:
            message = f"{pod} is not replaced: it has had {number - 1} successors"
            outcome.verdict = Verdict(Step.BLOCKED, pod, message)
            return
        self._record = Record(
            pod=pod,
            ordinal=ordinal,
            incarnation=number,
            began=situation.now,
            keep=log_pods.keeps_volumes(situation.resource),
            pod_uid=old["metadata"]["uid"] if old else "",
            claims={one["metadata"]["name"]: one["metadata"]["uid"] for one in claims},
        )
        self._annotate(
            {
                **self._incarnation(ordinal, number),
                log_pods.ANNOTATION_REPAIR: self._record.text(),
            }
        )

    def _incarnation(self, ordinal: int, number: int) -> dict[str, str | None]:
        self._outcome.incarnations[str(ordinal)] = number
        return log_pods.incarnation_annotation(self._outcome.incarnations)

    def _take_away(self, record: Record, claims: Sequence[Json]) -> None:
        """Remove claims and Pod; what is gone already stays gone."""
        old = [one for one in claims if one["metadata"]["uid"] in record.claims.values()]
        problem = self._keep(record, old) if record.keep else ""
        if problem:
            message = f"{record.pod} is not replaced: its volume cannot be kept: {problem}"
            self._outcome.verdict = Verdict(Step.BLOCKED, record.pod, message)
            return
        for claim in old:
            self._kubernetes.delete(claim)
        pod = self._pod(record.pod)
        # A Pod made meanwhile uses the old claim as long as that is there.
        if pod is not None and (old or pod["metadata"]["uid"] == record.pod_uid):
            lost = nodes.is_lost(nodes.node_name(pod), self._nodes)
            self._kubernetes.delete(pod, force=lost)
        self._outcome.changed = True

    def _keep(self, record: Record, claims: Sequence[Json]) -> str:
        """Keep the volumes of claims; return why one cannot be kept."""
        bound = [claim for claim in claims if (claim.get("spec") or {}).get("volumeName")]
        volumes = self._kubernetes.volumes(bound)
        if len(volumes) < len(bound):
            return "it cannot be read"
        for volume in volumes:
            if (volume.get("spec") or {}).get("persistentVolumeReclaimPolicy") == "Retain":
                continue
            problem = self._kubernetes.keep(volume)
            if problem:
                return problem
            name = volume["metadata"]["name"]
            note = f"PersistentVolume {name} with the data of {record.pod} is kept (Retain)"
            self._outcome.events.append(occurrence("VolumeKept", note, action="FailOver"))
        return ""

    def _scale(self) -> None:
        """Let the last store leave, if it may; should it ever come back, it is another one."""
        situation, outcome = self._situation, self._outcome
        if not 0 < situation.wanted < situation.present:
            return
        outcome.scale = scale_in(situation.present, situation.wanted, outcome.view)
        if outcome.verdict.step in log_stores.UNDER_WAY:
            message = f"{outcome.verdict.pod} is being replaced"
            outcome.scale = ScaleIn(situation.present, None, message)
        leaves = outcome.scale.leaves
        if leaves is not None and not log_pods.claims_stay(situation.resource):
            number = log_stores.next_incarnation(leaves, outcome.incarnations, outcome.view)
            if number <= log_stores.MAX_INCARNATION:
                self._annotate(self._incarnation(leaves, number))

    def _pod(self, name: str) -> Json | None:
        found = (pod for pod in self._situation.pods if pod["metadata"]["name"] == name)
        return next(found, None)

    def _annotate(self, annotations: Mapping[str, str | None]) -> None:
        self._kubernetes.annotate(annotations)
        self._outcome.changed = True


def view_of(details: ClusterDetails, state: ClusterState) -> View:
    """Bring the answers of HAKeeper into the shape that decisions are made from.

    A shard of which no store runs a replica is only in HAKeeper's own state: none of it lives.
    """
    health = shard_health(details, HEARD_SECONDS)
    shards = []
    for number in sorted({*health, *state.shards}):
        known = health.get(number)
        shard = known.shard if known else state.shards[number]
        shards.append(
            Shard(
                number=number,
                members=frozenset(shard.members.values()),
                alive=known.alive if known else frozenset(),
                wanted=state.wanted_replicas.get(number),
                leader=shard.members.get(shard.leader, "") if shard.leader else "",
            )
        )
    silent = {store.uuid: store.silent for store in details.log_stores}
    placed = frozenset(store.uuid for store in details.log_stores if store.locality)
    return View(state.running, silent, shards, placed)
