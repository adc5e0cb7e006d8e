# SPDX-License-Identifier: Apache-2.0
"""A roll, a scale-in and both at once: whatever happens between passes, one store is away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import log_uuid
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.presence import (
    Presence,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.roll import (
    next_stores,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.scaling import (
    scale_in,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import (
    HEARD_SECONDS,
    Shard,
    View,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.roll import next_turn
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import pod, workload

Json = dict[str, Any]
BEGIN = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)
LEAST = 5
"""minReadySeconds."""


@dataclass
class Store:
    """One log store: its Pod, and whether it runs its replicas."""

    revision: str = "old"
    state: str = "ready"
    created: float = -600.0
    ready: float = -600.0
    joined: bool = True


@dataclass
class LogService:
    """A log service with an operator; time passes between the passes, unevenly."""

    members: set[int]
    present: int
    desired: int
    now: float = 0.0
    stores: dict[int, Store] = field(default_factory=dict)
    heard: dict[int, float] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = {ordinal: Store() for ordinal in range(self.present)}
        self.heard = dict.fromkeys(self.stores, 0.0)

    def tick(self, seconds: float) -> None:
        """Let time pass: what runs is heard, what ends is created again unless it is surplus."""
        self.now += seconds
        self.heard |= {ordinal: self.now for ordinal in self.stores if self.up(ordinal)}

    def ends(self, ordinal: int) -> None:
        """A Pod that was deleted ends; the controller creates the next one."""
        store = self.stores.get(ordinal)
        if store is None or store.state != "going":
            return
        del self.stores[ordinal]
        if ordinal < self.present:
            self.stores[ordinal] = Store("new", "pending", created=self.now, joined=False)

    def readies(self, ordinal: int) -> None:
        """Kubernetes finds a Pod ready."""
        store = self.stores.get(ordinal)
        if store is not None and store.state == "pending":
            store.state, store.ready = "ready", self.now

    def joins(self, ordinal: int) -> None:
        """A store that is ready has taken up its replicas, and speaks to HAKeeper again."""
        store = self.stores.get(ordinal)
        if store is not None and store.state == "ready":
            store.joined = True

    def moves(self, ordinal: int) -> None:
        """HAKeeper gives the replica of a store that it has given up to another one."""
        away = ordinal in self.members and ordinal not in self.stores
        spare = [one for one in self.stores if one not in self.members and self.up(one)]
        if away and self.now - self.heard[ordinal] > 300 and spare:
            self.members = self.members - {ordinal} | {min(spare)}

    def up(self, ordinal: int) -> bool:
        """Whether a store really runs its replicas."""
        store = self.stores.get(ordinal)
        return store is not None and store.state == "ready" and store.joined

    def away(self) -> set[int]:
        """Stores with a replica that really are away."""
        return {ordinal for ordinal in self.members if not self.up(ordinal)}

    def view(self) -> View:
        """What HAKeeper believes."""
        silent = {log_uuid(one): self.now - at for one, at in self.heard.items()}
        members = frozenset(map(log_uuid, self.members))
        alive = frozenset(one for one in members if silent[one] <= HEARD_SECONDS)
        return View(True, silent, [Shard(0, members, alive, 3), Shard(1, members, alive, 3)])

    def pods(self) -> list[Json]:
        """What Kubernetes shows."""
        return [self._pod(ordinal, store) for ordinal, store in self.stores.items()]

    def _pod(self, ordinal: int, store: Store) -> Json:
        metadata: Json = {"labels": {"controller-revision-hash": store.revision}}
        metadata["creationTimestamp"] = _at(store.created)
        if store.state == "going":
            metadata["deletionTimestamp"] = _at(self.now)
        ready = store.state in {"ready", "going"}
        return pod(f"mo-log-{ordinal}", ready=ready, since=_at(store.ready), metadata=metadata)

    def scales(self) -> None:
        """A pass lets the last store leave, or adds some."""
        presence = Presence.of(self.pods(), (BEGIN + timedelta(seconds=self.now)).timestamp())
        found = scale_in(self.present, self.desired, self.view(), presence)
        if found.leaves is not None:
            self._take(f"store {found.leaves} leaves", found.leaves)
        self.present = found.replicas
        for ordinal in range(self.present):
            made = Store("new", "pending", created=self.now, joined=False)
            self.stores.setdefault(ordinal, made)

    def rolls(self) -> None:
        """A pass replaces Pods of the earlier template."""
        made = workload(wanted=self.present)
        made["spec"]["minReadySeconds"] = LEAST
        made["status"]["updateRevision"] = "new"
        now = BEGIN + timedelta(seconds=self.now)
        turn = next_turn(made, self.pods(), now)
        presence = Presence.of(self.pods(), now.timestamp())
        chosen, _waiting = next_stores(
            turn, self.view(), presence, present=self.present, desired=self.desired
        )
        for name in chosen:
            self._take(f"{name} rolls", int(name.rpartition("-")[2]))

    def _take(self, what: str, ordinal: int) -> None:
        self.taken.append(what)
        self.stores[ordinal].state = "going"


def _at(moment: float) -> str:
    return (BEGIN + timedelta(seconds=moment)).strftime("%Y-%m-%dT%H:%M:%SZ")


EVENTS = ("ends", "readies", "joins", "moves")
ordinals = st.integers(0, 4)
rounds = st.tuples(
    st.sets(st.tuples(st.sampled_from(EVENTS), ordinals)),
    st.sampled_from([1, 2, 3, 6, 11, 301]),
    st.sampled_from([None, None, None, 3, 4, 5]),
)


def play(
    service: LogService,
    events: Iterable[tuple[str, int]],
    seconds: float,
    desired: int | None = None,
) -> None:
    """Something happens, a size may be asked for, time passes, then the operator makes a pass."""
    service.desired = desired or service.desired
    for event, ordinal in sorted(events, key=lambda one: EVENTS.index(one[0])):
        getattr(service, event)(ordinal)
    service.tick(seconds)
    service.scales()
    service.rolls()


@settings(max_examples=300, deadline=None)
@given(
    st.sets(ordinals, min_size=3, max_size=3),
    st.lists(rounds, min_size=5, max_size=40),
)
def test_whatever_happens_no_two_stores_are_taken_at_once(
    members: set[int], done: list[tuple[set[tuple[str, int]], int, int | None]]
) -> None:
    service = LogService(members, 5, 5)
    for events, seconds, desired in done:
        play(service, events, seconds, desired)
        assert len(service.away()) <= 1, service.taken


@pytest.mark.parametrize("desired", [3, 5])
def test_a_new_version_and_a_smaller_size_are_done_in_the_end(desired: int) -> None:
    service = LogService({2, 3, 4}, 5, desired)
    everything = [(event, ordinal) for event in EVENTS for ordinal in range(5)]
    for _round in range(200):
        play(service, everything, 11)
        assert len(service.away()) <= 1, service.taken
    assert sorted(service.stores) == list(range(desired))
    assert {store.revision for store in service.stores.values()} == {"new"}
    leaves = [number for number, what in enumerate(service.taken) if what.endswith("leaves")]
    assert leaves == list(range(5 - desired))
