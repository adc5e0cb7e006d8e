# SPDX-License-Identifier: Apache-2.0
"""Puts the parts of the loop together and runs them: kinds, caches, triggers, workers."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ansible_operator import metrics
from ansible_operator.background import keep_running
from ansible_operator.engine.interface import Engine
from ansible_operator.errors import ConfigError, EngineError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper, wait_until_served
from ansible_operator.kube.interface import EventType, GroupVersionKind, Object, ResourceType
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.queueing.shards import Shards
from ansible_operator.loop.queueing.workers import Reconcile, Workers
from ansible_operator.loop.reconciling.artifact_limit import ArtifactLimit
from ansible_operator.loop.reconciling.conditions import Transitions
from ansible_operator.loop.reconciling.controller import Controller
from ansible_operator.loop.reconciling.leftovers import remove_leftovers
from ansible_operator.loop.reconciling.objects import ObjectStore
from ansible_operator.loop.reconciling.orphaning import OrphaningDeletions
from ansible_operator.loop.reconciling.runs import Runs
from ansible_operator.loop.settings import Controlled, KubeconfigFor, RunSettings, gvk_of
from ansible_operator.loop.triggers.dependents import DependentWatches
from ansible_operator.loop.triggers.members import MembersWatch
from ansible_operator.loop.triggers.own_writes import ForeignChanges, OwnWrites
from ansible_operator.loop.triggers.polling import ReferencePoll
from ansible_operator.loop.triggers.primaries import PrimaryTrigger, why_run
from ansible_operator.loop.triggers.probing import Probing
from ansible_operator.loop.triggers.references import ReferenceWatch
from ansible_operator.watches import Watch

SYNC_SECONDS = 120.0
FIRST_LIST_SECONDS = 3.0
"""Longest time that a play's first write of a kind waits for the list of that kind."""

_LOG = get_logger("ansible-controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A watch with its settings from flags and environment.

    Attributes:
        limit: runs of this kind at the same time.
        period: seconds between periodic runs; 0 for none.
    """

    watch: Watch
    limit: int
    period: float
    verbosity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What the loop needs from the manager."""

    client: HttpClient
    mapper: DiscoveryMapper
    informers: SharedInformers
    engine: Engine
    kubeconfig_for: KubeconfigFor
    recorder: EventRecorder
    settings: RunSettings


def controller_names(watches: Sequence[Watch]) -> list[str]:
    """A unique name per watch; only kinds that differ in nothing but the group get it added."""
    taken: set[str] = set()
    names = []
    for watch in watches:
        name = watch.controller_name
        if name in taken:
            name = f"{watch.kind.kind}-{watch.kind.version}-{watch.kind.group}-controller".lower()
        taken.add(name)
        names.append(name)
    return names


def one_at_a_time(plans: Mapping[str, Plan]) -> frozenset[str]:
    """Controllers of the kinds of which a watch allows one run at a time."""
    return frozenset(
        name for name, plan in plans.items() if plan.watch.max_concurrent_reconciles == 1
    )


def _keep(
    group: asyncio.TaskGroup, name: str, work: Callable[[], Awaitable[None]], what: object = ""
) -> None:
    """Have a task in the background begin again when it fails."""
    group.create_task(keep_running(name, work), name=f"{name} {what}".rstrip())


def _ignore(_event: EventType, _before: Object | None, _now: Object) -> None:
    """Receive changes and do nothing."""


class ControlLoop:
    """All controllers of the process.

    Attributes:
        synced: set when the caches of all kinds are complete.
    """

    def __init__(
        self, deps: Dependencies, plans: Sequence[Plan], total: int, shards: int = 1
    ) -> None:
        self.synced = asyncio.Event()
        self._started = time.time()
        self._deps = deps
        self._names = controller_names([plan.watch for plan in plans])
        self._plans = dict(zip(self._names, plans, strict=True))
        self._own = OwnWrites()
        self._shards = Shards(shards, one_at_a_time(self._plans))
        self._queue = WorkQueue(
            total,
            {name: plan.limit for name, plan in self._plans.items()},
            {name: plan.watch.retry for name, plan in self._plans.items()},
            includes=self._shards.include if shards > 1 else None,
        )
        self._foreign = ForeignChanges(self._queue, self._own)
        self._controlled: dict[GroupVersionKind, Controlled] = {}
        self._dependents = DependentWatches(
            deps.informers, self._queue, self._controlled, self._foreign
        )
        self._artifacts = ArtifactLimit(deps.settings)
        self._reconciles: dict[str, Reconcile] = {}
        self._ready: asyncio.Queue[Controlled] = asyncio.Queue()
        self._workers: Workers | None = None
        self._removals: set[asyncio.Task[None]] = set()

    @property
    def watches(self) -> list[Watch]:
        """What is watched, in the order of the file."""
        return [plan.watch for plan in self._plans.values()]

    async def synchronize(self) -> None:
        """Find all kinds and fill their caches; each is reconciled once its cache is complete.

        Raises:
            ConfigError: a kind is not served, or its cache does not get complete in time.
        """
        for name, plan in self._plans.items():
            metrics.MAX_CONCURRENT_RECONCILES.labels(name).set(plan.limit)
        try:
            async with asyncio.timeout(SYNC_SECONDS):
                await asyncio.gather(*map(self._start_kind, self._names))
        except TimeoutError as error:
            late = ", ".join(self._late())
            raise ConfigError(f"timed out waiting for caches to be synced: {late}") from error
        self.synced.set()

    async def work(self) -> None:
        """Reconcile each kind from the moment its cache is complete, until cancelled.

        :meth:`drain` afterwards.
        """
        self._workers = Workers(self._queue, self._reconciles)
        async with asyncio.TaskGroup() as group:
            _keep(group, "workers", self._workers.run)
            while True:
                self._follow_kind(await self._ready.get(), group)

    def _follow_kind(self, controlled: Controlled, group: asyncio.TaskGroup) -> None:
        """Start the tasks that follow a kind: its leftovers, references, members and probe."""
        deps = self._deps
        _keep(group, "leftovers", partial(self._remove_leftovers, controlled), controlled.name)
        for reference in controlled.watch.references:
            if reference.poll:
                poll = ReferencePoll(
                    controlled, reference, deps.informers, deps.client, self._queue
                )
                _keep(group, "reference", partial(poll.run, deps.mapper), poll.gvk)
                continue
            watch = ReferenceWatch(controlled, reference, deps.informers, self._queue)
            _keep(group, "reference", partial(watch.start, deps.mapper), watch.gvk)
        for members in controlled.watch.members:
            follower = MembersWatch(controlled, members, deps.informers, self._queue, self._foreign)
            _keep(group, "members", partial(follower.run, deps.mapper), follower.gvk)
        if controlled.watch.probe and deps.engine.answers_checks:
            ask = self._runs(controlled).is_as_reported
            probing = Probing(controlled, deps.informers, ask, self._queue)
            _keep(group, "probe", probing.run, controlled.name)

    async def _remove_leftovers(self, controlled: Controlled) -> None:
        """Remove run directories of objects that were deleted before this process started."""
        deps = self._deps
        informer = deps.informers.peek(controlled.resource)
        if informer is not None:
            scope = deps.informers.namespaces
            await remove_leftovers(controlled, informer, deps.settings, scope, self._started)

    @property
    def open_shards(self) -> frozenset[int]:
        """Numbers of the shards whose objects are run here."""
        return frozenset(self._shards.open)

    def open_shard(self, number: int) -> None:
        """Run the objects of a shard from now on, each of them once to begin with.

        What has happened to them meanwhile is not known here.
        """
        self._shards.open.add(number)
        for controlled in self._controlled.values():
            if controlled.name not in self._reconciles:
                continue  # all its objects are added once they are known
            informer = self._deps.informers.peek(controlled.resource)
            for obj in informer.list() if informer is not None else ():
                metadata = obj["metadata"]
                key = Key(controlled.name, metadata.get("namespace", ""), metadata["name"])
                is_run = bool(why_run(controlled.watch, EventType.ADDED, None, obj))
                if is_run and self._shards.number(key) == number:
                    self._queue.add(key, reason="its shard is run here now")

    def close_shard(self, number: int) -> None:
        """Begin no more runs of the objects of a shard."""
        self._shards.open.discard(number)
        self._queue.discard(lambda key: self._shards.number(key) == number)

    def runs_of_shards(self) -> Counter[int]:
        """How many objects of each shard are being run."""
        return Counter(map(self._shards.number, self._queue.active()))

    async def drain(self, timeout: float) -> bool:
        """End all runs; see :meth:`ansible_operator.loop.queueing.workers.Workers.drain`."""
        if self._workers is None:
            self._queue.close()
            return True
        return await self._workers.drain(timeout)

    async def _start_kind(self, name: str) -> None:
        """Find a kind, watch it and wait for its cache."""
        plan = self._plans[name]
        kind = gvk_of(plan.watch.kind)
        resource = await wait_until_served(self._deps.mapper, kind, _LOG.error)
        controlled = Controlled(
            name=name,
            watch=plan.watch,
            resource=resource,
            period=plan.period,
            verbosity=plan.verbosity,
        )
        self._controlled[resource.gvk] = controlled
        informer = self._deps.informers.start(resource)
        informer.when_redefined(controlled.redefine)
        release = informer.subscribe(_ignore)  # it must not stop while it has no other subscriber
        await informer.synced.wait()
        orphaning = OrphaningDeletions()
        informer.subscribe(orphaning)  # before the handler that leads to runs
        self._reconciles[name] = self._controller(controlled, orphaning).reconcile
        trigger = PrimaryTrigger(controlled, self._queue, self._foreign, self._on_deleted)
        informer.subscribe(trigger)
        release()
        self._ready.put_nowait(controlled)

    def _on_deleted(self, controlled: Controlled, key: Key) -> None:
        """With the last object of a kind its dependents' watches end.

        The files of the runs of an object that another process runs now are removed here.
        """
        if not self._shards.include(key) and controlled.can_have(key.namespace, key.name):
            task = asyncio.create_task(self._forget(controlled, key))
            self._removals.add(task)
            task.add_done_callback(self._removals.discard)
        informer = self._deps.informers.peek(controlled.resource)
        if informer is not None and not informer.list():
            self._dependents.end_all(controlled.gvk)

    async def _forget(self, controlled: Controlled, key: Key) -> None:
        try:
            await self._runs(controlled).forget(key.namespace, key.name)
        except EngineError as error:
            _LOG.info("A run directory cannot be removed", key="/".join(key), error=str(error))

    def _late(self) -> list[str]:
        missing = [plan.watch.kind for plan in self._plans.values()]
        synced = {
            gvk
            for gvk, item in self._controlled.items()
            if (informer := self._deps.informers.peek(item.resource)) and informer.synced.is_set()
        }
        return [str(kind) for kind in missing if gvk_of(kind) not in synced]

    def _controller(self, controlled: Controlled, orphaning: OrphaningDeletions) -> Controller:
        deps = self._deps
        return Controller(
            controlled=controlled,
            objects=ObjectStore(deps.client, controlled, deps.informers),
            runs=self._runs(controlled),
            recorder=deps.recorder,
            transitions=Transitions(),
            release_slot=self._queue.release_slot,
            orphaning=orphaning,
        )

    def _runs(self, controlled: Controlled) -> Runs:
        deps = self._deps
        return Runs(controlled, deps.settings, deps.engine, deps.kubeconfig_for, self._artifacts)

    def watch_dependent(
        self, owner: GroupVersionKind, dependent: ResourceType, *, by_annotation: bool
    ) -> bool:
        """Watch a kind of which a run creates an object; whether it is watched now."""
        return self._dependents.watch(owner, dependent, by_annotation)

    async def await_dependents(self, dependent: ResourceType) -> None:
        """Wait, for a limited time, until the objects of a watched kind are cached.

        A change between the creation of an object and the first list of its kind would appear as
        part of that creation, and lead to no run.
        """
        informer = self._deps.informers.peek(dependent)
        if informer is not None and not informer.tried.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(informer.tried.wait(), FIRST_LIST_SECONDS)

    def note_write(
        self, owner: GroupVersionKind, namespaced_name: tuple[str, str], uid: str, version: str
    ) -> None:
        """A run has written an object; see :class:`OwnWrites`."""
        if (controlled := self._controlled.get(owner)) is not None:
            self._own.note(Key(controlled.name, *namespaced_name), uid, version)

    def controlled(self) -> Mapping[GroupVersionKind, Controlled]:
        """The kinds under control whose CRDs have been found."""
        return self._controlled
