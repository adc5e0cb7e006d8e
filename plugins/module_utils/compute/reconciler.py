# SPDX-License-Identifier: Apache-2.0
"""One pass over all compute nodes of a set: observe, correct, drain, and report how they are.

Whatever MatrixOne does, a pass ends by its deadline: what could not be asked stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ..api.pod_addresses import reachable
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.session import Session
from ..clients.matrixone import (
    ClusterDetails,
    Deadline,
    HAKeeper,
    LockService,
    MatrixOneError,
    Reach,
    UnknownStore,
)
from ..clients.matrixone.records import WorkState
from . import pods as cn_pods
from .drain import Drain, Locks, Step, next_step
from .load import Load
from .load_query import loads_of, locks_of
from .observed_stores import observed
from .pass_input import PassInput
from .pass_result import PassResult
from .pod_writer import ComputePodWriter
from .resume_query import that_resume
from .scaling import outlived, pods_to_delete, replicas_to_keep, unusable
from .stores import CNStore
from .work_states import Change, change_needed, desired_state, opens_gate

_DETAILS_SECONDS = 5.0
_NEWS_SECONDS = 0.5
T = TypeVar("T")


class Recorder(Protocol):
    """What a pass needs of Kubernetes."""

    def annotate(self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a Pod; None removes one."""

    def open_gate(self, pod: Mapping[str, Any]) -> None:
        """Report that the store of a Pod is known, which its readiness waits for."""

    def delete(self, pod: Mapping[str, Any]) -> None:
        """Delete this very Pod."""


class ComputeReconciler:
    """One pass; `run` is called once.

    Args:
        pass_input: what it starts from.
        recorder: how Pods are changed.
        deadline: when it ends.
        reach: what is dialled of the addresses that HAKeeper names.
    """

    def __init__(
        self,
        pass_input: PassInput,
        recorder: Recorder,
        deadline: Deadline,
        reach: Reach = Reach.NETWORK,
    ) -> None:
        self._input = pass_input
        self._reach = reach
        self._recorder = recorder
        self._deadline = deadline
        self._result = PassResult()
        self._pods = {pod["metadata"]["name"]: pod for pod in pass_input.pods}
        self._pods_to_delete: frozenset[str] = frozenset()
        self._unusable: frozenset[str] = frozenset()
        # Whether somebody may need the locks of those that leave.
        self._needed = True

    def run(self) -> PassResult:
        """Observe, correct and drain; a set that asks for nothing of that costs nothing."""
        self._result.managed = self._input.is_managed
        if not (self._result.managed or self._input.degraded):
            self._check_news()
            return self._result
        if not self._input.pods or not self._input.addresses:
            self._work(None)
            return self._result
        addresses = self._input.addresses
        with HAKeeper(addresses, addresses, self._reach) as hakeeper:
            self._work(hakeeper)
        return self._result

    def _check_news(self) -> None:
        """Ask for the state of compute nodes that came up lately or were never reported.

        No answer is no problem.
        """
        pass_input, result = self._input, self._result
        result.states = dict(pass_input.reported)
        news = set(cn_pods.became_ready_lately(pass_input.pods, pass_input.now))
        news.update(cn_pods.without_state(pass_input.pods, pass_input.reported))
        if not news or not pass_input.addresses:
            return
        with HAKeeper(pass_input.addresses, pass_input.addresses, self._reach) as hakeeper:
            within = self._deadline.within(_NEWS_SECONDS)
            details = self._attempt(lambda: hakeeper.cluster_details(within))
        result.reached = details is not None
        for pod in pass_input.pods if details is not None else ():
            known = observed(pass_input, pod, details).record
            result.states[pod["metadata"]["name"]] = (
                known.work_state if known else WorkState.UNKNOWN
            ).value
        if details is not None:
            result.unsettled = [
                name for name in sorted(news) if result.states[name] == WorkState.UNKNOWN.value
            ]

    def _work(self, hakeeper: HAKeeper | None) -> None:
        details = None
        if hakeeper is not None:
            within = self._deadline.within(_DETAILS_SECONDS)
            details = self._attempt(lambda: hakeeper.cluster_details(within))
        self._result.reached = details is not None
        stores = self._with_resumed(
            [observed(self._input, pod, details) for pod in self._input.pods]
        )
        self._choose(stores)
        for store in stores:
            self._correct(store, hakeeper)
        ending = [store for store in stores if store.is_terminating and self._input.policy.drains]
        leaving = [store for store in stores if self._leaves(store)] + ending
        self._drain(leaving, details)
        self._conclude()

    def _with_resumed(self, stores: Sequence[CNStore]) -> list[CNStore]:
        """Ask those that would be replaced whether they need not be."""
        addresses = {
            store.pod: reachable(store.record.lock_address, self._input.pods)
            for store in stores
            if store.may_resume and store.record is not None
        }
        resuming = that_resume(addresses, self._deadline, self._reach)
        self._result.resumed = sorted(resuming)
        return [
            replace(store, resumes=True) if store.pod in resuming else store for store in stores
        ]

    def _choose(self, stores: Sequence[CNStore]) -> None:
        """Find the Pods to delete because of the size, or because they cannot serve any more."""
        desired, present = self._input.desired, self._input.present
        own = [store for store in stores if not store.stray]
        if self._input.chooses and desired is not None:
            size = desired if present is None else present
            self._pods_to_delete = pods_to_delete(own, desired, size, self._input.chosen)
        size = max(desired or 0, present or 0)
        strays = outlived(stores, size) if present is not None else frozenset()
        self._unusable = unusable(own, self._pods_to_delete) | strays

    def _leaves(self, store: CNStore) -> bool:
        return store.pod in self._pods_to_delete or store.pod in self._unusable

    def _attempt(self, call: Callable[[], T]) -> T | None:
        """Make a call; what goes wrong is kept, and the answer is unknown."""
        try:
            return call()
        except MatrixOneError as error:
            self._result.problem = self._result.problem or str(error)
            return None

    def _correct(self, store: CNStore, hakeeper: HAKeeper | None) -> None:
        """Make HAKeeper agree with what should be, and record on the Pod what that is."""
        leaves = self._leaves(store)
        state = desired_state(store, leaves=leaves)
        change = change_needed(store, state, self._input.policy)
        done = change is None or (
            hakeeper is not None and self._is_set(store, hakeeper, change, state)
        )
        known = store.record
        shown = known.work_state if known else WorkState.UNKNOWN
        if change in {Change.STATE, Change.BOTH} and done:
            shown = state
        self._result.states[store.pod] = shown.value
        if store.ready and not store.is_terminating and (known is None or not done):
            self._result.unsettled.append(store.pod)
        records = cn_pods.records(store, leaves=leaves, now=self._input.now)
        if known is not None and store.marked != shown:
            records[cn_pods.ANNOTATION_STATE] = shown.value
        self._record(store.pod, records)
        if done and opens_gate(store):
            self._recorder.open_gate(self._pods[store.pod])
            self._result.changed = True

    def _is_set(self, store: CNStore, hakeeper: HAKeeper, change: Change, state: WorkState) -> bool:
        labels, uuid = store.desired_labels, store.uuid
        calls: dict[Change, Callable[[], None]] = {
            Change.STATE: lambda: hakeeper.set_work_state(uuid, state, self._deadline),
            Change.LABELS: lambda: hakeeper.replace_labels(uuid, labels, self._deadline),
            Change.BOTH: lambda: hakeeper.patch_store(uuid, state, labels, self._deadline),
        }

        def call() -> bool:
            try:
                calls[change]()
            except UnknownStore:
                return False
            self._result.changed = True
            return True

        return bool(self._attempt(call))

    def _record(self, pod: str, annotations: Mapping[str, str | None]) -> None:
        if annotations:
            self._recorder.annotate(self._pods[pod], annotations)
            self._result.changed = True

    def _drain(self, leaving: Sequence[CNStore], details: ClusterDetails | None) -> None:
        """Take the drain of each Pod that leaves one step further."""
        now, drains = self._input.now, self._result.drains
        begun = [
            store if store.draining_since is not None else replace(store, draining_since=now)
            for store in leaving
        ]
        records = [details.cn_store(store.uuid) if details else None for store in begun]
        loads = loads_of(records, self._deadline, self._reach)
        idle = {store.uuid for store, load in zip(begun, loads, strict=True) if load.idle}
        self._needed = details is None or any(
            one.uuid not in idle and not one.expired for one in details.cn_stores
        )
        for store, load in zip(begun, loads, strict=True):
            drain = self._step(store, load, details)
            # A Pod that is being deleted ends with its hook: nothing waits for it here.
            if not (store.is_terminating and drain.finished):
                drains[store.pod] = drain

    def _conclude(self) -> None:
        """Decide how many replicas stay, and delete Pods that cannot serve any more."""
        pass_input, result = self._input, self._result
        if pass_input.desired is not None and pass_input.present is not None:
            drains = [drain for pod, drain in result.drains.items() if pod in self._pods_to_delete]
            kept = replicas_to_keep(pass_input.present, pass_input.desired, drains)
            result.replicas = kept if kept != pass_input.desired else None
        for pod in sorted(self._unusable):
            if result.drains[pod].finished:
                self._recorder.delete(self._pods[pod])
                result.changed = True

    def _step(self, store: CNStore, load: Load, details: ClusterDetails | None) -> Drain:
        pass_input = self._input
        drain = next_step(store, load, Locks.UNKNOWN, pass_input.policy, pass_input.now)
        if drain.step is not Step.WAIT_FOR_LOCKS:
            return drain
        tn = details.serving_tn() if details else None
        if tn is None:
            return drain
        address = reachable(tn.lock_address, pass_input.others)
        return self._attempt(lambda: self._handed_over(store, load, address)) or drain

    def _handed_over(self, store: CNStore, load: Load, address: str) -> Drain:
        """Ask for the locks once it is time, and return how far that is."""
        pass_input = self._input
        with LockService(address, self._reach) as service:
            locks = locks_of(service, store.uuid, self._deadline)
            drain = next_step(
                store, load, locks, pass_input.policy, pass_input.now, needed=self._needed
            )
            if drain.step is Step.ASK_FOR_LOCKS:
                service.set_restart(store.uuid, self._deadline)
                self._record(store.pod, {cn_pods.ANNOTATION_LOCKS: store.process})
        return drain


def run_pass(session: Session, pass_input: PassInput, seconds: float) -> PassResult:
    """Run one pass, which ends after so many seconds whatever MatrixOne does."""
    return ComputeReconciler(
        pass_input, ComputePodWriter(Writer(session)), Deadline.after(seconds)
    ).run()
