# SPDX-License-Identifier: Apache-2.0
"""What becomes of the log stores of a set: which one is replaced, which one may leave (design D3).

Pure decisions from what was observed. What is not known is None here and never counts as healthy:
without an answer of HAKeeper nothing is taken away. A store is replaced by a new, empty one of the
same name and address, under the next incarnation; HAKeeper then fills it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

HEARD_SECONDS: Final = 10.0
"""Heartbeats come every second; a store that was heard within this time lives."""
MAX_INCARNATION: Final = 0xFFFF
_REFUSES_REPLICAS: Final = (
    "log stores with a locality are given no replicas that vote; take it out of their config"
)


@dataclass(frozen=True, slots=True)
class Shard:
    """A log shard as HAKeeper has it; 0 is its own.

    Attributes:
        number: shard id.
        members: UUIDs of the stores with a voting replica.
        alive: those of them whose replica runs.
        wanted: voting replicas that it should have; None when that is not known.
        leader: UUID of the store that leads; empty while none does.
    """

    number: int
    members: frozenset[str]
    alive: frozenset[str]
    wanted: int | None = None
    leader: str = ""

    @property
    def complete(self) -> bool:
        """Whether all replicas that it should have run."""
        return self.members == self.alive and len(self.members) >= (self.wanted or 0)

    def survives_without(self, stores: Iterable[str]) -> bool:
        """Tell whether more than half of the replicas run without these stores."""
        return 2 * len(self.alive - frozenset(stores)) > len(self.members)


@dataclass(frozen=True, slots=True)
class View:
    """What HAKeeper answered; an answer also proves that it has a quorum.

    Attributes:
        running: whether it was bootstrapped.
        silent: seconds since the last heartbeat, by UUID of the log store.
        shards: the log shards.
        placed: UUIDs of the log stores with a locality.
    """

    running: bool
    silent: Mapping[str, float]
    shards: Sequence[Shard]
    placed: frozenset[str] = frozenset()

    def stores_of(self, ordinal: int) -> frozenset[str]:
        """Return the UUIDs that stores of an ordinal have or had, of any incarnation."""
        known = {*self.silent, *(uuid for shard in self.shards for uuid in shard.members)}
        return frozenset(uuid for uuid in known if ordinal_of(uuid) == ordinal)

    def _lives(self, uuid: str) -> bool:
        return self.silent.get(uuid, HEARD_SECONDS + 1) <= HEARD_SECONDS

    def heard(self, ordinal: int) -> bool:
        """Tell whether any store of an ordinal gave a sign of life lately."""
        return any(map(self._lives, self.stores_of(ordinal)))

    def without_data(self, ordinal: int) -> bool:
        """Tell whether a store lives that does not run the replicas that it is counted on for."""
        return any(
            self._lives(uuid)
            for shard in self.shards
            for uuid in shard.members - shard.alive
            if ordinal_of(uuid) == ordinal
        )

    def counts_on(self, ordinal: int) -> bool:
        """Tell whether a shard has a replica on a store of an ordinal."""
        own = self.stores_of(ordinal)
        return any(shard.members & own for shard in self.shards)

    def missed(self, ordinal: int) -> list[int]:
        """Return the shards that still count on a store of an ordinal that does not run."""
        return [
            shard.number
            for shard in self.shards
            if any(ordinal_of(uuid) == ordinal for uuid in shard.members - shard.alive)
        ]

    def refuses_replicas(self, ordinal: int) -> bool:
        """Tell whether replicas of an ordinal would find no other store.

        HAKeeper gives replicas that vote only to stores without a locality, but for the first ones
        (selectStore in MatrixOne's pkg/hakeeper/checkers/logservice/filter.go). Log stores of a set
        have their locality in common; one that is silent may still be known with one of before.
        """
        return any(map(self._lives, self.placed - self.stores_of(ordinal)))

    def incomplete(self) -> list[int]:
        """Return the shards that have fewer running replicas than they should."""
        return [shard.number for shard in self.shards if not shard.complete]


def ordinal_of(uuid: str) -> int | None:
    """Return the ordinal in a log store's UUID; None for a UUID of somebody else's making."""
    groups = uuid.split("-")
    try:
        return int(groups[4], 16) if groups[:3] == ["00000000", "0000", "0000"] else None
    except (IndexError, ValueError):
        return None


def incarnation_of(uuid: str) -> int:
    """Return the incarnation in a log store's UUID."""
    return int(uuid.split("-")[3], 16) if ordinal_of(uuid) is not None else 0


def next_incarnation(ordinal: int, recorded: Mapping[str, int], view: View | None) -> int:
    """Return the first incarnation that no store of an ordinal ever had."""
    used = [incarnation_of(uuid) for uuid in (view.stores_of(ordinal) if view else ())]
    return max([recorded.get(str(ordinal), 0), *used]) + 1


@dataclass(frozen=True, slots=True)
class LogStore:
    """A log store that should exist.

    Attributes:
        pod: name of its Pod.
        ordinal: number of the Pod.
        down_since: since when it is down (Unix time); None while it is up.
        hindrance: why a new, empty store would not come up either; empty if it might.
    """

    pod: str
    ordinal: int
    down_since: float | None = None
    hindrance: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """A replacement under way, as recorded on the LogSet.

    Attributes:
        pod: whose store is replaced.
        ordinal: number of the Pod.
        incarnation: of the new store.
        began: when it was decided (Unix time).
        taken: whether nothing of the old store is left.
        rendered: whether the stores' configuration has the new incarnation.
        made: when the Pod of the new store was made (Unix time); 0 before that.
    """

    pod: str
    ordinal: int
    incarnation: int
    began: float
    taken: bool = False
    rendered: bool = False
    made: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How a LogSet repairs itself.

    Attributes:
        timeout: seconds that a store must be down before it is replaced.
        shard_replicas: voting replicas that shards are founded with.
        served: whether the set was ever ready.
    """

    timeout: int
    shard_replicas: int
    served: bool = True


class Step(StrEnum):
    """What is to be done next about stores that are down."""

    NOTHING = "Nothing"
    WAIT = "Wait"
    """A store is down, but not for long enough."""
    BLOCKED = "Blocked"
    """A store should be replaced and must not be, or it would be of no use."""
    RECORD = "Record"
    """Record the new incarnation, so that the configuration gets it."""
    RENDER = "Render"
    """It is recorded; the configuration does not have it yet."""
    TAKE_AWAY = "TakeAway"
    """Remove the old store's Pod and claim."""
    AWAIT_STORE = "AwaitStore"
    """The new store is not up yet."""
    AWAIT_REPLICAS = "AwaitReplicas"
    """The new store is up, HAKeeper has not placed all replicas anew yet."""
    FINISH = "Finish"
    """Replaced: forget the record."""
    CALL_OFF = "CallOff"
    """It came back before anything was taken away: forget the record."""


UNDER_WAY: Final = frozenset(
    {Step.RECORD, Step.RENDER, Step.TAKE_AWAY, Step.AWAIT_STORE, Step.AWAIT_REPLICAS}
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done, and how to say it.

    Attributes:
        step: what is next.
        pod: whom it is about; empty for nobody.
        message: for people.
        due: when that will be looked at anew (Unix time); None for the usual period.
    """

    step: Step
    pod: str = ""
    message: str = ""
    due: float | None = field(default=None)


_NOTHING: Final = Verdict(Step.NOTHING)


def next_repair(
    stores: Sequence[LogStore],
    view: View | None,
    policy: Policy,
    repair: Repair | None,
    now: float,
) -> Verdict:
    """Say what is to be done about log stores that are down.

    Args:
        stores: the log stores that should exist.
        view: what HAKeeper says; None when it did not answer.
        policy: when a store is replaced.
        repair: the replacement under way, if any; there is never a second one.
        now: the present, Unix time.
    """
    down = sorted(
        (store for store in stores if store.down_since is not None),
        key=lambda store: (store.down_since or 0.0, store.ordinal),
    )
    if repair is not None:
        return _continued(repair, down, view, policy, now)
    due = [store for store in down if _due(store, policy) <= now]
    if not due:
        return _waiting(down, policy)
    refusals = []
    for store in due:
        refusal = why_not(store, down, view, policy)
        if not refusal:
            return Verdict(Step.RECORD, store.pod, f"{store.pod} is replaced by a new store")
        refusals.append(Verdict(Step.BLOCKED, store.pod, f"{store.pod} is not replaced: {refusal}"))
    return refusals[0]


def _due(store: LogStore, policy: Policy) -> float:
    return (store.down_since or 0.0) + policy.timeout


def _waiting(down: Sequence[LogStore], policy: Policy) -> Verdict:
    if not down:
        return _NOTHING
    first = min(down, key=lambda store: _due(store, policy))
    message = f"{first.pod} is replaced when it has been down for {policy.timeout} s"
    return Verdict(Step.WAIT, first.pod, message, _due(first, policy))


def why_not(store: LogStore, down: Sequence[LogStore], view: View | None, policy: Policy) -> str:
    """Say why a store that is down must not be replaced, or need not be; empty if it may.

    Args:
        store: the store.
        down: all stores that are down, with it.
        view: what HAKeeper says; None when it did not answer.
        policy: how the set repairs itself.
    """
    if not policy.served or (view is not None and not view.running):
        return "the log service has never been up as a whole"
    if view is None:
        return "HAKeeper does not answer, so nobody knows which replicas are left"
    counted = [one.pod for one in down if one is store or view.counts_on(one.ordinal)]
    if len(counted) > policy.shard_replicas // 2:
        majority = "more than a minority of the replicas of a log shard; bring one of them back"
        return f"{' and '.join(sorted(counted))} are down, {majority}"
    if view.heard(store.ordinal) and not view.without_data(store.ordinal):
        return "HAKeeper still hears from it"
    own = view.stores_of(store.ordinal)
    lost = [shard.number for shard in view.shards if not shard.survives_without(own)]
    if lost:
        return f"log shard {_listed(lost)} would have no quorum without it"
    return _REFUSES_REPLICAS if view.refuses_replicas(store.ordinal) else store.hindrance


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _continued(
    repair: Repair, down: Sequence[LogStore], view: View | None, policy: Policy, now: float
) -> Verdict:
    """Take a replacement one step further; each step asks anew whether it still may be."""
    store = next((one for one in down if one.pod == repair.pod), None)
    if repair.taken:
        return _after_removal(repair, store, down, view, policy, now)
    if store is None:
        return Verdict(Step.CALL_OFF, repair.pod, f"{repair.pod} came back by itself")
    refusal = why_not(store, down, view, policy)
    if refusal:
        return Verdict(Step.BLOCKED, repair.pod, f"{repair.pod} is not replaced: {refusal}")
    step = Step.TAKE_AWAY if repair.rendered else Step.RENDER
    return Verdict(step, repair.pod, f"{repair.pod} is replaced by a new store")


def _after_removal(
    repair: Repair,
    store: LogStore | None,
    down: Sequence[LogStore],
    view: View | None,
    policy: Policy,
    now: float,
) -> Verdict:
    if store is not None:
        return _not_up_again(repair, store, down, view, policy, now)
    if view is None:
        message = f"{repair.pod} is up again; HAKeeper does not answer, so its replicas are unknown"
        return Verdict(Step.AWAIT_REPLICAS, repair.pod, message)
    missed = view.missed(repair.ordinal)
    short = [shard.number for shard in view.shards if len(shard.members) < (shard.wanted or 0)]
    if missed or short:
        shards = _listed({*missed, *short})
        message = f"{repair.pod} is up again; HAKeeper places its replicas of log shard {shards}"
        return Verdict(Step.AWAIT_REPLICAS, repair.pod, message)
    return Verdict(Step.FINISH, repair.pod, f"{repair.pod} has been replaced by a new store")


def _not_up_again(
    repair: Repair,
    store: LogStore,
    down: Sequence[LogStore],
    view: View | None,
    policy: Policy,
    now: float,
) -> Verdict:
    """A new store gets the same time as any other before it is replaced in its turn."""
    due = max(repair.began, repair.made, store.down_since or 0.0) + policy.timeout
    if now >= due:
        refusal = why_not(store, down, view, policy)
        if not refusal:
            return Verdict(Step.RECORD, store.pod, f"{store.pod} is replaced by a new store, again")
        return Verdict(Step.BLOCKED, store.pod, f"{store.pod} is not replaced again: {refusal}")
    message = f"waiting for the new store of {store.pod}"
    return Verdict(Step.AWAIT_STORE, store.pod, message, due)


@dataclass(frozen=True, slots=True)
class ScaleIn:
    """How many log stores a set keeps for now.

    Attributes:
        replicas: for the workload.
        leaves: ordinal of the store that goes now; None if none does.
        message: what the next one waits for; empty if nothing.
    """

    replicas: int
    leaves: int | None = None
    message: str = ""


def scale_in(present: int, wanted: int, view: View | None) -> ScaleIn:
    """Let one store leave at a time, when every shard keeps its quorum and is complete without it.

    A stop (0) is no scale-in: all stores go at once and keep their volumes.

    Args:
        present: replicas of the workload.
        wanted: replicas that the spec asks for.
        view: what HAKeeper says; None when it did not answer.
    """
    if wanted == 0 or wanted >= present:
        return ScaleIn(wanted)
    ordinal = present - 1
    refusal = _why_it_stays(ordinal, view)
    if refusal:
        return ScaleIn(present, None, f"log store {ordinal} stays for now: {refusal}")
    left = present - 1
    awaited = f"{left - wanted} more to go one by one" if left > wanted else ""
    return ScaleIn(left, ordinal, awaited)


def _why_it_stays(ordinal: int, view: View | None) -> str:
    if view is None:
        return "HAKeeper does not answer, so nobody knows which replicas it has"
    if view.counts_on(ordinal) and view.refuses_replicas(ordinal):
        return _REFUSES_REPLICAS
    own = view.stores_of(ordinal)
    # The one before may have gone so lately that HAKeeper has not missed it yet.
    unplaced = [
        shard.number
        for shard in view.shards
        if not shard.members - shard.alive <= own
        or len(shard.members) < (shard.wanted or 0)
        or any((ordinal_of(uuid) or 0) > ordinal for uuid in shard.members)
    ]
    if unplaced:
        return f"HAKeeper is placing replicas of log shard {_listed(unplaced)} anew"
    lost = [shard.number for shard in view.shards if not shard.survives_without(own)]
    return f"log shard {_listed(lost)} would have no quorum without it" if lost else ""
