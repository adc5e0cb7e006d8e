# SPDX-License-Identifier: Apache-2.0
"""What is known of pools, Pods, stores, claims and claim sets when a pass decides.

All are frozen and have defaults, so that a test names only what it is about. Times are Unix times
in seconds; None is a time that is not known. Unknown is None, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..clients.matrixone.records import Labels, WorkState
from ..compute.drain import Locks, Policy
from ..compute.load import Load


class Phase(StrEnum):
    """What a Pod of a pool is used for: the value of its phase label."""

    UNKNOWN = "Unknown"
    IDLE = "Idle"
    BOUND = "Bound"
    DRAINING = "Draining"
    TERMINATING = "Terminating"


class ClaimPhase(StrEnum):
    """``status.phase`` of a claim."""

    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"
    OUTDATED = "Outdated"


class Placement(StrEnum):
    """Which nodes claims prefer."""

    PACKED = "Packed"
    """Nodes that serve claims already, so that others become empty."""
    SPREAD = "Spread"
    """Nodes that serve the fewest claims of the same owner."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A Pod of a pool.

    Attributes:
        name, uid, version: identity and resourceVersion; writes depend on both.
        pool: name of its pool; empty if it has none.
        generation: name of the CNSet that it was created from.
        phase: its phase label.
        claim, claim_uid: the claim that it is bound to; the predecessor wrote no uid.
        claim_set: label of the claim set of its claim.
        claim_labels: keys of the labels that its claim added.
        claimed_at: when it was bound.
        owner, last_owner: owner of its claim, and of the one before.
        reclaimed_at: when it was released.
        draining_since: since when HAKeeper surely has its store as Draining.
        returned_at: when it became idle after a claim had used it.
        locks_asked_at: when its locks were asked for; None if they were not.
        delete_on_reclaim: it is deleted after its drain, whatever the pool needs.
        direct: somebody else created it; it is deleted after its drain, too.
        ready: it is ready.
        gated: it is not ready before this operator says that its store is known.
        deleting: it has a deletionTimestamp.
        deleted_at: when its deletion began.
        ended: its phase is Failed, Succeeded or Unknown: it serves no more.
        running: its phase is Running.
        node: its node; empty while it has none.
        created: creation time.
        cost: its ``pod-deletion-cost``.
        labels: all its labels.
    """

    name: str
    uid: str = ""
    version: str = ""
    pool: str = ""
    generation: str = ""
    phase: Phase = Phase.UNKNOWN
    claim: str = ""
    claim_uid: str = ""
    claim_set: str = ""
    claim_labels: tuple[str, ...] = ()
    claimed_at: float | None = None
    owner: str = ""
    last_owner: str = ""
    reclaimed_at: float | None = None
    draining_since: float | None = None
    returned_at: float | None = None
    locks_asked_at: float | None = None
    delete_on_reclaim: bool = False
    direct: bool = False
    ready: bool = False
    gated: bool = False
    deleting: bool = False
    deleted_at: float = 0.0
    ended: bool = False
    running: bool = True
    node: str = ""
    created: float = 0.0
    cost: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def was_used(self) -> bool:
        """Whether a claim had it: only then it may have locks."""
        times = (self.claimed_at, self.reclaimed_at, self.returned_at)
        return bool(self.last_owner or self.claim) or any(at is not None for at in times)

    @property
    def live(self) -> bool:
        """Whether it runs on, as far as Kubernetes shows."""
        return not self.deleting and not self.ended


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """The store of a Pod, as HAKeeper and the compute node report it.

    Attributes:
        known: whether HAKeeper has it and has not given it up; None where HAKeeper did not answer.
        state: its work state.
        labels: its labels.
        seen_at: when HAKeeper was asked.
        load: what it is busy with.
        sampled_at: when the compute node was asked for that; None if it was not.
        locks: what the transaction node says about its locks; unknown if it was not asked.
        locks_asked: whether they were asked for in this pass.
        silent: whether HAKeeper heard this process, and has not for too long.
        refused: whether it has to be replaced: the transaction node may have taken it for dead, and
            refuse its commits (``CNStore.refused``), or it answers no login and will not by itself.
        service_id: its uuid.
        sql_address, query_address, lock_address, pipeline_address: where it answers.
    """

    known: bool | None = None
    state: WorkState = WorkState.UNKNOWN
    labels: Labels = field(default_factory=dict)
    seen_at: float = 0.0
    load: Load = field(default_factory=Load)
    sampled_at: float | None = None
    locks: Locks = Locks.UNKNOWN
    locks_asked: bool = False
    silent: bool = False
    refused: bool = False
    service_id: str = ""
    sql_address: str = ""
    query_address: str = ""
    lock_address: str = ""
    pipeline_address: str = ""

    @property
    def drains(self) -> bool:
        """Whether it is known that no proxy routes to it."""
        return bool(self.known) and self.state == WorkState.DRAINING

    @property
    def clean(self) -> bool:
        """Whether it is known that it drains, and has no labels."""
        return self.drains and not self.labels

    def serves(self, labels: Labels) -> bool:
        """Return whether it is known to be working with exactly these labels."""
        same = {key: tuple(values) for key, values in self.labels.items()} == dict(labels)
        return bool(self.known) and self.state == WorkState.WORKING and same


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """A claim.

    Attributes:
        name, uid, version: identity and resourceVersion.
        created: creation time.
        generation: ``metadata.generation``.
        deleting: it has a deletionTimestamp.
        selector: LabelSelector of Pods; None selects nothing.
        cn_labels: labels of the store while it is bound.
        owner: ``spec.ownerName``.
        pod_labels: ``spec.additionalPodLabels``.
        priority: higher ones are served first.
        pool, pod, node: ``spec.poolName``, ``podName`` and ``nodeName``.
        source: name in ``spec.sourcePod``; empty outside a migration.
        labels: labels of the claim.
        controller: uid of the object that controls it.
        status: as it is.
    """

    name: str
    uid: str = ""
    version: str = ""
    created: float = 0.0
    generation: int = 0
    deleting: bool = False
    selector: Mapping[str, Any] | None = None
    cn_labels: Labels = field(default_factory=dict)
    owner: str = ""
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    pool: str = ""
    pod: str = ""
    node: str = ""
    source: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    controller: str = ""
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """Return ``status.phase``; empty before the first pass."""
        return str(self.status.get("phase") or "")

    @property
    def recorded_pod(self) -> str:
        """Return the Pod that it was bound to last; the predecessor wrote the key ``string``."""
        store = self.status.get("store") or {}
        return str(store.get("podName") or store.get("string") or "")

    @property
    def ready(self) -> bool:
        """Whether it is served."""
        return self.phase in {ClaimPhase.BOUND, ClaimPhase.OUTDATED}


@dataclass(frozen=True, slots=True)
class IdleWindow:
    """A part of the week in which a pool keeps another number of idle Pods.

    Attributes:
        days: 0 is Monday; empty for all.
        begin, end: minutes of the day (UTC); one that ends before it begins goes over midnight, and
            counts for the day on which it began.
        idle: the number.
    """

    days: frozenset[int] = frozenset()
    begin: int = 0
    end: int = 0
    idle: int = 0


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """A pool.

    Attributes:
        name, uid: identity.
        deleting: it has a deletionTimestamp.
        pod_labels: labels of its Pods, which claims select.
        generation: name of the CNSet that its present template leads to.
        max_idle: idle Pods to keep.
        max_idle_percent: the same as a percentage of those in use, rounded up; the larger counts.
        windows: other numbers at other times; the first that holds counts instead of max_idle.
        max_pods: most Pods over all generations; None for any number.
        reclaim_timeout: seconds for which a returned Pod that is too many is kept.
        warm_seconds: for how long the last owner's Pod is preferred; None for ever.
        drain: how its Pods drain.
        placement: which nodes claims prefer; None for any.
        quota: most Pods of an owner; None for any number.
        quotas: the same of single owners.
    """

    name: str
    uid: str = ""
    deleting: bool = False
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    generation: str = ""
    max_idle: int = 0
    max_idle_percent: int = 0
    windows: tuple[IdleWindow, ...] = ()
    max_pods: int | None = None
    reclaim_timeout: int = 0
    warm_seconds: int | None = None
    drain: Policy = field(default_factory=lambda: Policy(True, 15, 300))
    placement: Placement | None = None
    quota: int | None = None
    quotas: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a pass of a pool decides from.

    Attributes:
        pool: the pool.
        now: the present.
        pods: Pods of all pools of the namespace, by name.
        claims: all claims of the namespace, by name.
        pools: all pools of the namespace.
        stores: by name of Pod; one that is missing is unknown.
        generations: names of the CNSets that the pool has.
        reached: whether HAKeeper answered.
        fresh: Pods and claims were listed from the API server itself in this pass, not from a
            cache, and all writes of this pass since are in it. Some writes need that.
    """

    pool: PoolFacts
    now: float = 0.0
    pods: Mapping[str, PodFacts] = field(default_factory=dict)
    claims: Mapping[str, ClaimFacts] = field(default_factory=dict)
    pools: tuple[PoolFacts, ...] = ()
    stores: Mapping[str, StoreFacts] = field(default_factory=dict)
    generations: tuple[str, ...] = ()
    reached: bool = True
    fresh: bool = True

    def store(self, pod: str) -> StoreFacts:
        """Return what is known of a Pod's store."""
        return self.stores.get(pod) or StoreFacts()


@dataclass(frozen=True, slots=True)
class ClaimSetFacts:
    """A claim set.

    Attributes:
        name, uid: identity.
        replicas: desired claims.
        template: ``spec.template``.
        deleting: it has a deletionTimestamp.
        selector: ``spec.selector``; what it owns does not depend on it.
    """

    name: str
    uid: str = ""
    replicas: int = 0
    template: Mapping[str, Any] = field(default_factory=dict)
    deleting: bool = False
    selector: Mapping[str, Any] | None = None
