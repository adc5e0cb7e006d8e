# SPDX-License-Identifier: Apache-2.0
"""One pass over the log stores of a set: observe, replace one that is lost, let one leave.

A pass takes one step at most and records it before it acts, so that the next pass continues from
there, whoever runs it. It ends by its deadline: what could not be asked stays unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..api.pod_addresses import log_addresses
from ..api.pods import live_pods
from ..clients.matrixone import Deadline, MatrixOneError
from ..reporting.events import occurrence
from ..workload import nodes
from ..workload.plans import is_paused
from ..workload.reports import expected_pods
from . import failover as log_stores
from . import health, left_stores
from . import pods as log_pods
from .deleted_claims import deleted_claims
from .failover import Step, Verdict
from .health import Question
from .pass_input import PassInput
from .pass_result import PassResult
from .pods import Record, SetState
from .presence import Presence
from .scaling import ScaleIn, scale_in
from .view import ordinal_of_pod
from .view_query import ask
from .volume_keeper import VolumeKeeper, Volumes

Json = Mapping[str, Any]

_BEFORE_DELETION = frozenset({Step.WAIT, Step.RECORD, Step.RENDER, Step.TAKE_AWAY})
_LOSS = "and its volume is deleted then, because the operator may not read PersistentVolumes"
_SECONDS = {Question.NEEDED: 3.5, Question.BRIEF: 0.5}


class Kubernetes(Volumes, Protocol):
    """What a pass needs of Kubernetes."""

    def nodes(self, selected: Iterable[str]) -> nodes.Nodes:
        """Return nodes by name, as far as they may be read; None for one that does not exist."""

    def claims(self) -> Sequence[Json]:
        """Return the claims of the set."""

    def latest(self, api_version: str, kind: str, name: str) -> Json | None:
        """Return an object as the API server has it at this moment, not as a cache has it."""

    def gossip(self) -> str:
        """Return the incarnations as the stores' configuration has them."""

    def delete(self, found: Json, *, force: bool = False) -> None:
        """Delete this very object; with ``force`` without waiting for its node."""


class LogServiceReconciler:
    """One pass; `run` is called once.

    Args:
        pass_input: what it starts from.
        kubernetes: how objects are read and changed.
        deadline: when it ends.
    """

    def __init__(self, pass_input: PassInput, kubernetes: Kubernetes, deadline: Deadline) -> None:
        self._input, self._kubernetes, self._deadline = pass_input, kubernetes, deadline
        self._record = log_pods.recorded(pass_input.resource)
        self._result = PassResult(incarnations=log_pods.incarnations(pass_input.resource))
        self._keeper = VolumeKeeper(pass_input.resource, kubernetes)
        self._left = left_stores.left_stores(pass_input.resource)
        self._nodes: nodes.Nodes = {}

    def run(self) -> PassResult:
        """Observe, decide, act."""
        pass_input, result = self._input, self._result
        question = health.question(
            pass_input.resource, pass_input.workload, pass_input.pods, pass_input.now
        )
        if question is not Question.NONE:
            self._ask(_SECONDS[question])
        deleted = deleted_claims(pass_input.resource, pass_input.workload, pass_input.claims)
        self._keeper.keep_deleted(deleted)
        claims: list[Json] = []
        if self._record is not None:
            claims = list(self._kubernetes.claims())
        result.verdict = self._with_loss(self._decide(claims))
        self._act(result.verdict, claims)
        self._delete_claims_of_left()
        self._scale()
        result.leaving = bool(self._left)
        if self._record is None and result.verdict.step is Step.NOTHING:
            self._keeper.delete_overdue(result.view, pass_input.now)
        result.events += self._keeper.events
        return result

    def _decide(self, claims: Sequence[Json]) -> Verdict:
        """Return what is next about stores that are down, from what is known at this moment."""
        pass_input, view = self._input, self._result.view
        policy = log_pods.policy_of(pass_input.resource)
        stores = self._stores(policy)
        repair = None
        if self._record is not None:
            repair = self._record.state(pass_input.pods, claims, self._kubernetes.gossip())
        present = view.within(pass_input.present) if view else None
        return log_stores.next_repair(stores, present, policy, repair, pass_input.now)

    def _with_loss(self, verdict: Verdict) -> Verdict:
        """Announce that a volume goes with its store, where this operator may not keep it."""
        pass_input = self._input
        is_ahead = verdict.step in _BEFORE_DELETION
        if not is_ahead or log_pods.keeps_volumes(pass_input.resource):
            return verdict
        found = self._kubernetes.claims()
        claims = log_pods.claims_of(verdict.pod, pass_input.workload, found)
        if self._keeper.finds_volumes(claims):
            return verdict
        return replace(verdict, message=f"{verdict.message}, {_LOSS}")

    def _ask(self, seconds: float) -> None:
        addresses = log_addresses(live_pods(self._input.pods))
        self._result.asked, self._result.view = True, None
        if not addresses:
            self._result.problem = "no log store is running"
            return
        try:
            self._result.view = ask(addresses, self._deadline, seconds)
        except MatrixOneError as error:
            self._result.problem = str(error)

    def _stores(self, policy: log_stores.Policy) -> list[log_stores.LogStore]:
        pass_input, view = self._input, self._result.view
        self._result.lost = health.lost_stores(pass_input.pods, view, pass_input.now)
        since = health.down_since(
            pass_input.resource,
            pass_input.pods,
            expected_pods(pass_input.resource, pass_input.present),
            self._result.lost,
            pass_input.now,
        )
        state = SetState(pass_input.pods, pass_input.workload)
        overdue = [
            pod
            for pod, moment in since.items()
            if moment is not None and moment + policy.timeout <= pass_input.now
        ]
        if overdue or self._record is not None:
            state = self._set_state(overdue)
        return [log_pods.log_store(pod, moment, state) for pod, moment in since.items()]

    def _set_state(self, overdue: Sequence[str]) -> SetState:
        """Observe nodes and volumes, which matter only when a store is to be replaced."""
        pass_input = self._input
        waiting = [
            pod["metadata"]["name"]
            for pod in pass_input.pods
            if pod["metadata"]["name"] in overdue and not nodes.node_name(pod)
        ]
        claims = self._kubernetes.claims() if waiting else ()
        volumes = {
            pod: self._kubernetes.volumes(log_pods.claims_of(pod, pass_input.workload, claims))
            for pod in waiting
        }
        names = {nodes.node_name(pod) for pod in pass_input.pods} - {""}
        for volume in itertools.chain(*volumes.values()):
            names |= nodes.nodes_of(volume)
        self._nodes = self._kubernetes.nodes(names)
        return SetState(pass_input.pods, pass_input.workload, self._nodes, volumes)

    def _act(self, verdict: Verdict, claims: Sequence[Json]) -> None:
        record = self._record
        if verdict.step is Step.RECORD:
            self._begin(verdict.pod)
        elif verdict.step is Step.TAKE_AWAY and record is not None:
            self._delete_old(record, claims)
        elif verdict.step is Step.FINISH and record is not None:
            note = f"{verdict.message} (incarnation {record.incarnation})"
            self._keeper.settle(record.pod, self._input.now)
            self._close("FailedOver", note, {})
        elif verdict.step is Step.CALL_OFF and record is not None:
            if record.untouched(claims):
                self._keeper.give_back(record.pod)
            self._keeper.settle(record.pod, self._input.now)
            self._close("FailoverCalledOff", verdict.message, self._as_before(record, claims))

    def _close(self, reason: str, note: str, numbers: Mapping[str, str | None]) -> None:
        self._annotate({**numbers, log_pods.ANNOTATION_REPAIR: None})
        self._result.events.append(occurrence(reason, note, action="FailOver"))

    def _as_before(self, record: Record, claims: Sequence[Json]) -> dict[str, str | None]:
        """Take the new incarnation back where no store can have it: the old data are all there.

        Where a volume is going, the next store starts empty, and must not be the one of before.
        """
        if record.before is None or not record.untouched(claims):
            return {}
        return self._incarnation(record.ordinal, record.before)

    def _begin(self, pod: str) -> None:
        """Record what is going to be replaced by what, before anything is touched."""
        pass_input, result = self._input, self._result
        claims = log_pods.claims_of(pod, pass_input.workload, self._kubernetes.claims())
        old = self._pod(pod)
        ordinal = ordinal_of_pod(pod)
        number = log_stores.next_incarnation(ordinal, result.incarnations, result.view)
        if number > log_stores.MAX_INCARNATION:
            message = f"{pod} is not replaced: it has had {number - 1} successors"
            result.verdict = Verdict(Step.BLOCKED, pod, message)
            return
        self._record = Record(
            pod=pod,
            ordinal=ordinal,
            incarnation=number,
            began=pass_input.now,
            keep=log_pods.keeps_volumes(pass_input.resource),
            pod_uid=old["metadata"]["uid"] if old else "",
            claims={claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in claims},
            before=result.incarnations.get(str(ordinal), 0),
            # One that is replaced in its turn never held what the first one did.
            hold=self._record is None,
        )
        self._annotate(
            {
                **self._incarnation(ordinal, number),
                log_pods.ANNOTATION_REPAIR: self._record.text(),
            }
        )

    def _incarnation(self, ordinal: int, number: int) -> dict[str, str | None]:
        self._result.incarnations[str(ordinal)] = number
        if not number:
            del self._result.incarnations[str(ordinal)]
        return log_pods.incarnation_annotation(self._result.incarnations)

    def _delete_old(self, record: Record, claims: Sequence[Json]) -> None:
        """Delete claims and Pod; what is gone already stays gone."""
        old = [one for one in claims if one["metadata"]["uid"] in record.claims.values()]
        problem = self._keeper.keep(record, old)
        if problem:
            message = f"{record.pod} is not replaced: its volume cannot be kept: {problem}"
            self._result.verdict = Verdict(Step.BLOCKED, record.pod, message)
            return
        for claim in old:
            if not self._is_still_lost(record, claims):
                return
            self._kubernetes.delete(claim)
            self._result.changed = True
        if not old and not self._is_still_lost(record, claims):
            return
        pod = self._pod(record.pod)
        # A Pod created meanwhile uses the old claim as long as that is there.
        if pod is not None and (old or pod["metadata"]["uid"] == record.pod_uid):
            lost = nodes.is_lost(nodes.node_name(pod), self._nodes)
            self._kubernetes.delete(pod, force=lost)
        self._result.changed = True

    def _is_still_lost(self, record: Record, claims: Sequence[Json]) -> bool:
        """Look again right before something is deleted; return whether it still is to be.

        The LogSet and the Pod are read from the API server, and HAKeeper is asked anew. Where any
        of them does not answer, or says something else by now, nothing is deleted.
        """
        metadata = self._input.resource["metadata"]
        api_version, kind = (self._input.resource[key] for key in ("apiVersion", "kind"))
        latest = self._kubernetes.latest(api_version, kind, metadata["name"])
        is_same = latest is not None and latest["metadata"].get("uid") == metadata.get("uid")
        if latest is None or not is_same or not _is_to_replace(latest, record):
            message = f"{record.pod} is not replaced: its LogSet was changed at this moment"
            self._result.verdict = Verdict(Step.BLOCKED, record.pod, message)
            return False
        pod = self._kubernetes.latest("v1", "Pod", record.pod)
        others = [one for one in self._input.pods if one["metadata"]["name"] != record.pod]
        pods = [*others, pod] if pod else others
        self._input = replace(self._input, resource=latest, pods=pods)
        self._ask(_SECONDS[Question.NEEDED])
        self._result.verdict = self._decide(claims)
        return self._result.verdict.step is Step.TAKE_AWAY

    def _scale(self) -> None:
        """Let the last store leave, if it may; if it ever returns, it is a new one."""
        pass_input, result = self._input, self._result
        if not 0 < pass_input.desired < pass_input.present:
            return
        presence = Presence.of(pass_input.pods, pass_input.now)
        result.scale = scale_in(pass_input.present, pass_input.desired, result.view, presence)
        if result.verdict.step in log_stores.UNDER_WAY:
            message = f"{result.verdict.pod} is being replaced"
            result.scale = ScaleIn(pass_input.present, None, message)
        leaves = result.scale.leaves
        if leaves is None or log_pods.claims_stay(pass_input.resource):
            return
        self._record_left(f"{pass_input.workload['metadata']['name']}-{leaves}")
        # The pass that has recorded it may not have come to the workload, and the store is there.
        if presence.runs_before(leaves, result.incarnations.get(str(leaves), 0), result.view):
            return
        number = log_stores.next_incarnation(leaves, result.incarnations, result.view)
        if number <= log_stores.MAX_INCARNATION:
            self._annotate(self._incarnation(leaves, number))

    def _record_left(self, pod: str) -> None:
        """Record whose claims go, before the StatefulSet is told to give up the Pod."""
        claims = self._kubernetes.claims()
        self._remember_left(left_stores.with_store(self._left, pod, self._input.workload, claims))

    def _delete_claims_of_left(self) -> None:
        """Delete the claims of stores that left; what says so is read anew from the API server."""
        if not self._left:
            return
        resource, workload = self._latest(self._input.resource), self._latest(self._input.workload)
        if resource is None or workload is None or is_paused(resource):
            return
        if left_stores.left_stores(resource) != self._left:
            return
        claims = self._kubernetes.claims()
        deletion = left_stores.next_deletion(
            self._left, resource, workload, self._input.pods, claims
        )
        for claim in deletion.claims:
            self._kubernetes.delete(claim)
            self._result.changed = True
        self._remember_left(deletion.waiting)

    def _remember_left(self, stores: Sequence[left_stores.LeftStore]) -> None:
        if list(stores) != self._left:
            self._annotate(left_stores.annotation(stores))
            self._left = list(stores)

    def _latest(self, found: Json) -> Json | None:
        """Return this very object as it is now; None if it is gone or going."""
        name, uid = found["metadata"]["name"], found["metadata"].get("uid")
        latest = self._kubernetes.latest(found["apiVersion"], found["kind"], name)
        if latest is None or latest["metadata"].get("uid") != uid:
            return None
        return None if latest["metadata"].get("deletionTimestamp") else latest

    def _pod(self, name: str) -> Json | None:
        found = (pod for pod in self._input.pods if pod["metadata"]["name"] == name)
        return next(found, None)

    def _annotate(self, annotations: Mapping[str, str | None]) -> None:
        self._kubernetes.annotate(annotations)
        self._result.changed = True


def _is_to_replace(log_set: Json, record: Record) -> bool:
    """Return whether a LogSet still has the record of a failover, and is neither held nor going."""
    is_deleted = bool(log_set["metadata"].get("deletionTimestamp"))
    return log_pods.recorded(log_set) == record and not is_deleted and not is_paused(log_set)
