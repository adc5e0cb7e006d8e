# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round over all compute nodes of a set: look, correct, drain, and say how it stands.

Whatever MatrixOne does, a round ends by its deadline: what could not be asked stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from ..module_utils.clients.matrixone import (
    ClusterDetails,
    CNStoreRecord,
    Deadline,
    HAKeeper,
    LockService,
    MatrixOneError,
    QueryService,
    UnknownStore,
    Unsupported,
    WorkState,
)
from ..module_utils.compute import drain as cn_stores
from ..module_utils.compute import pods as cn_pods
from ..module_utils.compute.drain import (
    Change,
    CNStore,
    Drain,
    Load,
    Locks,
    Policy,
    Registration,
    State,
    Step,
)

_MEASURED_AT_ONCE = 8
_MEASURE_SECONDS = 3.0
_DETAILS_SECONDS = 5.0
_GLANCE_SECONDS = 0.5
_WORK_STATES = {
    State.WORKING: WorkState.WORKING,
    State.DRAINING: WorkState.DRAINING,
    State.DRAINED: WorkState.DRAINED,
}
_STATES = {
    WorkState.UNKNOWN: State.UNKNOWN,
    WorkState.WORKING: State.WORKING,
    WorkState.DRAINING: State.DRAINING,
    WorkState.DRAINED: State.DRAINED,
}
T = TypeVar("T")


class Recorder(Protocol):
    """What a round needs of Kubernetes."""

    def annotate(self, pod: Mapping[str, Any], annotations: Mapping[str, str | None]) -> None:
        """Set annotations of a Pod; None removes one."""

    def open_gate(self, pod: Mapping[str, Any]) -> None:
        """Say of a Pod that its store is known, which its readiness waits for."""

    def delete(self, pod: Mapping[str, Any]) -> None:
        """Delete this very Pod."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a round begins with.

    Attributes:
        policy: how the set drains.
        wanted: Pods that the set should have; None if others decide on that.
        present: replicas of its workload; None if there is none.
        pods: Pods of the set.
        others: Pods of log service and transaction node, to find their addresses.
        addresses: where HAKeeper may be.
        now: the present, Unix time.
        told: work state by Pod, as the status of the set has it.
        chosen: Pods that go first when the set shrinks.
    """

    policy: Policy
    wanted: int | None
    present: int | None
    pods: Sequence[Mapping[str, Any]]
    others: Sequence[Mapping[str, Any]]
    addresses: Sequence[str]
    now: float
    told: Mapping[str, str] = field(default_factory=dict)
    chosen: Sequence[str] = ()

    @property
    def chooses(self) -> bool:
        """Whether it matters which Pods go: they drain, or somebody chose them."""
        return self.policy.drains or bool(self.chosen and (self.present or 0) > (self.wanted or 0))


@dataclass(slots=True)
class Outcome:
    """How a round ended.

    Attributes:
        managed: whether HAKeeper has to be told anything about this set at all.
        reached: whether HAKeeper answered.
        problem: the first thing that went wrong; empty if nothing did.
        changed: whether anything was changed, there or on a Pod.
        states: work state by Pod.
        drains: how far the drain of each Pod that leaves is.
        replicas: replicas that the workload keeps for now; None to leave them to the spec.
        unsettled: Pods that run but are not yet what they should be in HAKeeper.
    """

    managed: bool = False
    reached: bool = False
    problem: str = ""
    changed: bool = False
    states: dict[str, str] = field(default_factory=dict)
    drains: dict[str, Drain] = field(default_factory=dict)
    replicas: int | None = None
    unsettled: list[str] = field(default_factory=list)


class Round:
    """One round; `run` is called once.

    Args:
        situation: what it begins with.
        recorder: how Pods are changed; None for a round that is not run.
        deadline: when it ends.
    """

    def __init__(self, situation: Situation, recorder: Recorder | None, deadline: Deadline) -> None:
        self._situation = situation
        self._recorder = recorder
        self._deadline = deadline
        self._outcome = Outcome()
        self._pods = {pod["metadata"]["name"]: pod for pod in situation.pods}
        self._victims: frozenset[str] = frozenset()
        self._spoilt: frozenset[str] = frozenset()
        # Whether somebody may need the locks of those that leave.
        self._needed = True

    def is_needed(self) -> bool:
        """Tell whether HAKeeper has to be told anything about this set at all."""
        unasked = [self._store(pod, None) for pod in self._situation.pods]
        managed = cn_pods.is_managed(self._situation.policy, unasked)
        return managed or self._situation.chooses

    def run(self) -> Outcome:
        """Look, correct and drain; a set that asks for nothing of that costs nothing."""
        self._outcome.managed = self.is_needed()
        if not self._outcome.managed:
            self._glance()
            return self._outcome
        if not self._situation.pods or not self._situation.addresses:
            self._work(None)
            return self._outcome
        addresses = self._situation.addresses
        with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
            self._work(hakeeper)
        return self._outcome

    def _glance(self) -> None:
        """Ask how compute nodes are that came up lately, or of which nobody has heard.

        It is no matter when nobody answers.
        """
        situation, outcome = self._situation, self._outcome
        outcome.states = dict(situation.told)
        news = set(cn_pods.came_up_lately(situation.pods, situation.now))
        news.update(cn_pods.unheard_of(situation.pods, situation.told))
        if not news or not situation.addresses:
            return
        with HAKeeper(discovery=situation.addresses, addresses=situation.addresses) as hakeeper:
            within = self._deadline.within(_GLANCE_SECONDS)
            details = self._attempt(lambda: hakeeper.cluster_details(within))
        outcome.reached = details is not None
        for pod in situation.pods if details is not None else ():
            known = self._store(pod, details).registration
            outcome.states[pod["metadata"]["name"]] = (
                known.state if known else State.UNKNOWN
            ).value
        if details is not None:
            outcome.unsettled = [
                name for name in sorted(news) if outcome.states[name] == State.UNKNOWN.value
            ]

    def _work(self, hakeeper: HAKeeper | None) -> None:
        details = None
        if hakeeper is not None:
            within = self._deadline.within(_DETAILS_SECONDS)
            details = self._attempt(lambda: hakeeper.cluster_details(within))
        self._outcome.reached = details is not None
        stores = [self._store(pod, details) for pod in self._situation.pods]
        self._choose(stores)
        for store in stores:
            self._bring(store, hakeeper)
        ending = [store for store in stores if store.going and self._situation.policy.drains]
        leaving = [store for store in stores if self._leaves(store)] + ending
        self._drain(leaving, details)
        self._settle()

    def _choose(self, stores: Sequence[CNStore]) -> None:
        """Find the Pods that go because of the size, or because their locks are gone."""
        wanted = self._situation.wanted
        if self._situation.chooses and wanted is not None:
            present = wanted if self._situation.present is None else self._situation.present
            chosen = self._situation.chosen
            self._victims = cn_stores.victims(stores, wanted, present, chosen)
            self._spoilt = frozenset(
                one.pod for one in stores if cn_stores.must_be_replaced(one, self._victims)
            )

    def _leaves(self, store: CNStore) -> bool:
        return store.pod in self._victims or store.pod in self._spoilt

    def _attempt(self, call: Callable[[], T]) -> T | None:
        """Make a call; what goes wrong is remembered, and the answer is unknown."""
        try:
            return call()
        except MatrixOneError as error:
            self._outcome.problem = self._outcome.problem or str(error)
            return None

    def _store(self, pod: Mapping[str, Any], details: ClusterDetails | None) -> CNStore:
        if details is None:
            return cn_pods.cn_store(pod, None, asked=False)
        record = details.cn_store(cn_pods.uuid_of(pod))
        known = None
        if record is not None:
            known = Registration(_STATES[record.work_state], record.labels, record.expired)
        return cn_pods.cn_store(pod, known, asked=True)

    def _bring(self, store: CNStore, hakeeper: HAKeeper | None) -> None:
        """Make HAKeeper agree with what should be, and record on the Pod what that is."""
        leaves = self._leaves(store)
        state = cn_stores.wanted_state(store, leaves=leaves)
        change = cn_stores.change_needed(store, state, self._situation.policy)
        done = change is None or (
            hakeeper is not None and self._told(store, hakeeper, change, state)
        )
        known = store.registration
        shown = known.state if known else State.UNKNOWN
        if change in {Change.STATE, Change.BOTH} and done:
            shown = state
        self._outcome.states[store.pod] = shown.value
        if store.ready and not store.going and (known is None or not done):
            self._outcome.unsettled.append(store.pod)
        records = cn_pods.records(store, leaves=leaves, now=self._situation.now)
        if known is not None and store.marked != shown:
            records[cn_pods.ANNOTATION_STATE] = shown.value
        self._record(store.pod, records)
        if done and cn_stores.opens_gate(store):
            self._recorder.open_gate(self._pods[store.pod])
            self._outcome.changed = True

    def _told(self, store: CNStore, hakeeper: HAKeeper, change: Change, state: State) -> bool:
        work_state, labels, uuid = _WORK_STATES[state], store.wanted_labels, store.uuid
        calls: dict[Change, Callable[[], None]] = {
            Change.STATE: lambda: hakeeper.set_work_state(uuid, work_state, self._deadline),
            Change.LABELS: lambda: hakeeper.replace_labels(uuid, labels, self._deadline),
            Change.BOTH: lambda: hakeeper.patch_store(uuid, work_state, labels, self._deadline),
        }

        def call() -> bool:
            try:
                calls[change]()
            except UnknownStore:
                return False
            self._outcome.changed = True
            return True

        return bool(self._attempt(call))

    def _record(self, pod: str, annotations: Mapping[str, str | None]) -> None:
        if annotations:
            self._recorder.annotate(self._pods[pod], annotations)
            self._outcome.changed = True

    def _drain(self, leaving: Sequence[CNStore], details: ClusterDetails | None) -> None:
        """Take the drain of each Pod that leaves one step further."""
        now, drains = self._situation.now, self._outcome.drains
        begun = [
            store if store.draining_since is not None else replace(store, draining_since=now)
            for store in leaving
        ]
        loads = self._loads(begun, details)
        idle = {store.uuid for store, load in zip(begun, loads, strict=True) if load.idle}
        self._needed = details is None or any(
            one.uuid not in idle and not one.expired for one in details.cn_stores
        )
        for store, load in zip(begun, loads, strict=True):
            drain = self._step(store, load, details)
            # A Pod that is being deleted goes as soon as its hook ends: nobody waits for it here.
            if not (store.going and drain.finished):
                drains[store.pod] = drain

    def _settle(self) -> None:
        """Say how many replicas stay, and take away Pods that can serve no more."""
        situation, outcome = self._situation, self._outcome
        if situation.wanted is not None and situation.present is not None:
            drains = [drain for pod, drain in outcome.drains.items() if pod in self._victims]
            kept = cn_stores.replicas_to_keep(situation.present, situation.wanted, drains)
            outcome.replicas = kept if kept != situation.wanted else None
        for pod in sorted(self._spoilt):
            if outcome.drains[pod].finished:
                self._recorder.delete(self._pods[pod])
                outcome.changed = True

    def _loads(self, stores: Sequence[CNStore], details: ClusterDetails | None) -> Sequence[Load]:
        """Ask all compute nodes at once, so that one that hangs does not delay the others."""
        records = [details.cn_store(store.uuid) if details else None for store in stores]
        within = self._deadline.within(_MEASURE_SECONDS)
        if not any(records):
            return [Load()] * len(stores)
        with ThreadPoolExecutor(_MEASURED_AT_ONCE, thread_name_prefix="measure") as pool:
            return list(pool.map(lambda record: _measured(record, within), records))

    def _step(self, store: CNStore, load: Load, details: ClusterDetails | None) -> Drain:
        situation = self._situation
        drain = cn_stores.next_step(store, load, Locks.UNKNOWN, situation.policy, situation.now)
        if drain.step is not Step.WAIT_FOR_LOCKS:
            return drain
        tn = details.serving_tn() if details else None
        if tn is None:
            return drain
        address = cn_pods.reachable(tn.lock_address, situation.others)
        return self._attempt(lambda: self._handed_over(store, load, address)) or drain

    def _handed_over(self, store: CNStore, load: Load, address: str) -> Drain:
        """Ask for the locks where it is time to, and say how far that is."""
        situation = self._situation
        with LockService(address) as service:
            locks = _locks(service, store.uuid, self._deadline)
            drain = cn_stores.next_step(
                store, load, locks, situation.policy, situation.now, needed=self._needed
            )
            if drain.step is Step.ASK_FOR_LOCKS:
                service.set_restart(store.uuid, self._deadline)
                self._record(store.pod, {cn_pods.ANNOTATION_LOCKS: store.process})
        return drain


def _locks(service: LockService, uuid: str, deadline: Deadline) -> Locks:
    try:
        return Locks.HANDED_OVER if service.can_restart(uuid, deadline) else Locks.HELD
    except Unsupported:
        return Locks.UNSUPPORTED


def _measured(record: CNStoreRecord | None, deadline: Deadline) -> Load:
    """Ask a compute node how busy it is; what it does not say stays unknown."""
    if record is None:
        return Load()
    try:
        with QueryService(record.query_address) as query:
            sessions = query.sessions(deadline)
            return Load(
                cn_stores.user_sessions((one.account, one.from_proxy) for one in sessions),
                _counted(lambda: query.pipelines(deadline)),
                _counted(lambda: query.replicas(record, deadline)),
            )
    except MatrixOneError:
        return Load()


def _counted(call: Callable[[], int]) -> int:
    """Return a count; what a release does not have, it has none of."""
    try:
        return call()
    except Unsupported:
        return 0
