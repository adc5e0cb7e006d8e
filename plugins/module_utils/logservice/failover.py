# SPDX-License-Identifier: Apache-2.0
"""Which log store is replaced after it was lost, and how far its replacement is (design D3).

Pure decisions from what was observed. What is not known is None here and never counts as healthy:
without an answer of HAKeeper nothing is deleted. A store is replaced by a new, empty one of the
same name and address, under the next incarnation; HAKeeper then fills it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from .view import REFUSES_REPLICAS, View, incarnation_of, listed

MAX_INCARNATION: Final = 0xFFFF


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
        obstacle: why a new, empty store would not come up either; empty if it might.
        attempted: when its present Pod got a node, or its process first started (Unix time); 0
            where it has not.
        fails_repeatedly: whether its process has started and ended since it is down.
        is_created: whether its Pod exists. While Kubernetes creates none, as when a quota or a
            policy refuses it, a new store would get none either, and nothing says that its volume
            is lost.
    """

    pod: str
    ordinal: int
    down_since: float | None = None
    obstacle: str = ""
    attempted: float = 0.0
    fails_repeatedly: bool = False
    is_created: bool = True


@dataclass(frozen=True, slots=True)
class Repair:
    """A replacement under way, as recorded on the LogSet.

    Attributes:
        pod: whose store is replaced.
        ordinal: number of the Pod.
        incarnation: of the new store.
        began: when it was decided (Unix time).
        removed: whether nothing of the old store is left.
        touched: whether anything of the old store was deleted, or is being deleted.
        rendered: whether the stores' configuration has the new incarnation.
        created: when the Pod of the new store was created (Unix time); 0 before that.
    """

    pod: str
    ordinal: int
    incarnation: int
    began: float
    removed: bool = False
    touched: bool = False
    rendered: bool = False
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """How a LogSet repairs itself.

    Attributes:
        timeout: seconds that a store must be down before it is replaced.
        shard_replicas: voting replicas that shards are founded with.
        served: whether the set was ever ready.
        adopting: whether it is just being taken over from another operator: what keeps a store from
            coming up then is not the loss of its data.
    """

    timeout: int
    shard_replicas: int
    served: bool = True
    adopting: bool = False


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
    """The new store is up, HAKeeper has not placed all replicas yet."""
    FINISH = "Finish"
    """Replaced: forget the record."""
    CALL_OFF = "CallOff"
    """It came back before anything was deleted: forget the record."""


UNDER_WAY: Final = frozenset(
    {Step.RECORD, Step.RENDER, Step.TAKE_AWAY, Step.AWAIT_STORE, Step.AWAIT_REPLICAS}
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done, and how to say it.

    Attributes:
        step: what is next.
        pod: of which Pod; empty for none.
        message: for people.
        due: when that will be checked again (Unix time); None for the usual period.
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
    """Return what is to be done about log stores that are down.

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
    candidates = [store for store in down if store.is_created]
    due = [store for store in candidates if _due(store, policy) <= now]
    if not due:
        return _waiting(candidates, policy)
    refusals, waiting = [], []
    for store in due:
        refusal = why_not(store, down, view, policy)
        left = _heartbeat_seconds_left(store, view, policy)
        if refusal:
            message = f"{store.pod} is not replaced: {refusal}"
            refusals.append(Verdict(Step.BLOCKED, store.pod, message))
        elif left > 0:
            waiting.append(_wait(store, policy, now + left))
        else:
            return Verdict(Step.RECORD, store.pod, f"{store.pod} is replaced by a new store")
    return [*refusals, *waiting][0]


def _due(store: LogStore, policy: Policy) -> float:
    """Return when a store that is down may be replaced (Unix time).

    A Pod that was long in ending, in finding a node or in pulling its image has all of the time
    from then on: until then its store had no chance to come up.
    """
    return max(store.down_since or 0.0, store.attempted) + policy.timeout


def _heartbeat_seconds_left(store: LogStore, view: View | None, policy: Policy) -> float:
    """Return for how long HAKeeper still has to miss a store; 0 if it has for long enough.

    HAKeeper counts by its own clock, so no clock of the operator or of a node that is wrong lets a
    store be replaced that lived lately. One that fails repeatedly may send heartbeats at each
    start; one that sends them without running its replicas has lost its data.
    """
    silence = view.silence(store.ordinal) if view is not None else None
    if silence is None or view is None:
        return 0.0
    if store.fails_repeatedly or view.without_data(store.ordinal):
        return 0.0
    return max(0.0, policy.timeout - silence)


def _waiting(down: Sequence[LogStore], policy: Policy) -> Verdict:
    if not down:
        return _NOTHING
    first = min(down, key=lambda store: _due(store, policy))
    return _wait(first, policy, _due(first, policy))


def _wait(store: LogStore, policy: Policy, due: float) -> Verdict:
    message = f"{store.pod} is replaced when it has been down for {policy.timeout} s"
    return Verdict(Step.WAIT, store.pod, message, due)


def why_not(store: LogStore, down: Sequence[LogStore], view: View | None, policy: Policy) -> str:
    """Return why a store that is down must not be replaced, or need not be; empty if it may.

    Args:
        store: the store.
        down: all stores that are down, with it.
        view: what HAKeeper says; None when it did not answer.
        policy: how the set repairs itself.
    """
    if view is None or policy.adopting or not (policy.served and view.running):
        return _too_early(view, policy)
    counted = [one.pod for one in down if one is store or view.counts_on(one.ordinal)]
    if len(counted) > policy.shard_replicas // 2:
        majority = "more than a minority of the replicas of a log shard; recover one of them"
        return f"{' and '.join(sorted(counted))} are down, {majority}"
    if view.heard(store.ordinal) and not view.without_data(store.ordinal):
        return "HAKeeper still receives its heartbeats"
    own = view.stores_of(store.ordinal)
    lost = [shard.number for shard in view.shards if not shard.survives_without(own)]
    if lost:
        return f"log shard {listed(lost)} would have no quorum without it"
    return REFUSES_REPLICAS if view.refuses_replicas(store.ordinal) else store.obstacle


def _too_early(view: View | None, policy: Policy) -> str:
    """Return why none of the stores of a set may be replaced, whichever is down."""
    if policy.adopting:
        return "its adoption is under way, and its data are there"
    if not policy.served or view is not None:
        return "the log service has never been up as a whole"
    return "HAKeeper does not answer, so it is unknown which replicas are left"


def _continued(
    repair: Repair, down: Sequence[LogStore], view: View | None, policy: Policy, now: float
) -> Verdict:
    """Take a replacement one step further; each step checks again whether it still may be."""
    store = next((one for one in down if one.pod == repair.pod), None)
    if repair.removed:
        return _after_removal(repair, store, down, view, policy, now)
    if store is None:
        return Verdict(Step.CALL_OFF, repair.pod, f"{repair.pod} came back by itself")
    refusal = why_not(store, down, view, policy)
    left = max(_due(store, policy) - now, _heartbeat_seconds_left(store, view, policy))
    if not repair.touched and not refusal and left > 0:
        return Verdict(Step.CALL_OFF, repair.pod, f"{repair.pod} was up again in the meantime")
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
    short = [shard.number for shard in view.shards if len(shard.members) < (shard.desired or 0)]
    if missed or short:
        shards = listed({*missed, *short})
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
    if not store.is_created:
        message = f"waiting for Kubernetes to create the Pod of the new store {store.pod}"
        return Verdict(Step.AWAIT_STORE, store.pod, message)
    due = max(repair.began + policy.timeout, repair.created + policy.timeout, _due(store, policy))
    due = max(due, now + _heartbeat_seconds_left(store, view, policy))
    if now >= due:
        refusal = why_not(store, down, view, policy)
        if not refusal:
            return Verdict(Step.RECORD, store.pod, f"{store.pod} is replaced by a new store again")
        return Verdict(Step.BLOCKED, store.pod, f"{store.pod} is not replaced again: {refusal}")
    message = f"waiting for the new store of {store.pod}"
    return Verdict(Step.AWAIT_STORE, store.pod, message, due)
