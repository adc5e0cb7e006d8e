# SPDX-License-Identifier: Apache-2.0
"""What happens to the compute nodes of a set in HAKeeper (extended.md §5).

Pure decisions from what was observed: which node should get sessions and under which labels, which
ones leave when the set shrinks, how far the draining of each is. What is not known is None here and
never counts as zero: a node that could not be asked is busy until its time is over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

Labels = Mapping[str, tuple[str, ...]]
"""Labels of a store in HAKeeper: a list of values under each key."""

ANNOTATION_CORDON: Final = "matrixorigin.io/store-cordon"
"""Its presence, whatever its value, keeps new sessions away from a Pod."""
_SECONDS_FOR_NOBODY: Final = 30
"""Locks are handed over within seconds, unless the compute node has lost track of a transaction."""
_SLACK_SECONDS: Final = 60
COST_OF_VICTIMS: Final = -1000
"""``pod-deletion-cost`` of Pods that leave first when the set shrinks."""


class State(StrEnum):
    """Work states, as HAKeeper knows them."""

    UNKNOWN = "Unknown"
    WORKING = "Working"
    DRAINING = "Draining"
    DRAINED = "Drained"


class Locks(StrEnum):
    """What the transaction node says about a store's locks."""

    HANDED_OVER = "HandedOver"
    HELD = "Held"
    UNSUPPORTED = "Unsupported"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Registration:
    """A compute node as HAKeeper knows it."""

    state: State
    labels: Labels
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """What a compute node is busy with; None is what could not be found out.

    Attributes:
        sessions: sessions of users.
        pipelines: work for queries of other compute nodes.
        replicas: table shards that are placed there.
    """

    sessions: int | None = None
    pipelines: int | None = None
    replicas: int | None = None

    @property
    def idle(self) -> bool:
        """Whether it is known that there is nothing left."""
        return (self.sessions, self.pipelines, self.replicas) == (0, 0, 0)

    def text(self) -> str:
        """Return what is left, or what is not known."""
        counts = (
            (self.sessions, "sessions"),
            (self.pipelines, "pipelines"),
            (self.replicas, "replicas"),
        )
        unknown = [noun for count, noun in counts if count is None]
        if unknown:
            return f"unknown {' and '.join(unknown)}"
        return ", ".join(f"{count} {noun}" for count, noun in counts if count)


@dataclass(frozen=True, slots=True)
class CNStore:
    """A Pod of a CNSet and its store.

    Attributes:
        pod: name of the Pod.
        uuid: store id.
        ready: whether the Pod is ready.
        going: whether the Pod is being deleted.
        cordoned: whether an annotation keeps new sessions away.
        created: when the Pod was created, RFC 3339.
        process: when its main container started, RFC 3339; empty while it does not run.
        draining_since: second in which the drain began (Unix time); None if it did not.
        asked_process: the `process` whose locks were asked for; empty if none were.
        wanted_labels: labels that it should have.
        registration: its state in HAKeeper; None where it is not registered.
        asked: whether HAKeeper could be asked; if not, it is unknown whether it is registered.
        cost: its present ``pod-deletion-cost``; None without one.
        marked: work state that this operator recorded on the Pod last; empty if it never did.
        template: hash of the template that the Pod was made from; empty if it is unknown.
        gated: whether the Pod is not ready before this operator says that its store is known.
    """

    pod: str
    uuid: str
    ready: bool
    going: bool
    cordoned: bool
    created: str
    process: str
    draining_since: float | None
    asked_process: str
    wanted_labels: Labels
    registration: Registration | None
    asked: bool = True
    cost: int | None = None
    marked: str = ""
    template: str = ""
    gated: bool = False

    @property
    def locks_asked(self) -> bool:
        """Whether this process has been asked to hand its locks over: there is no way back."""
        return bool(self.process) and self.asked_process == self.process


@dataclass(frozen=True, slots=True)
class Policy:
    """How a set drains.

    Attributes:
        drains: whether it does at all.
        delay: seconds until all proxies and nodes know that a node drains.
        timeout: seconds after which a drain is given up and the node is deleted as it is.
    """

    drains: bool
    delay: int
    timeout: int

    @property
    def patience(self) -> int:
        """Seconds after which each drain is over, and the operator has noticed."""
        return self.timeout + self.delay + _SLACK_SECONDS


def victims(
    stores: Sequence[CNStore], wanted: int, present: int, chosen: Collection[str] = ()
) -> frozenset[str]:
    """Return the Pods that leave, so that as many as desired are left.

    While Pods are replaced by those of a newer template, there are more of them for a time, and
    Kubernetes deletes the older ones when the newer ones serve: then only a set that shrinks has
    victims, older ones, besides those that drain already.

    Those whose locks were taken leave first, since they serve no more; then those that were chosen;
    then those that drain already, so that a choice once made stays; then, as Kubernetes does it,
    those that are not ready; then cordoned ones; then the youngest.

    Args:
        stores: the Pods of the set.
        wanted: how many Pods the set should have.
        present: how many Pods its workload has been told to have.
        chosen: Pods that ``spec.podsToDelete`` names.
    """
    candidates = [one for one in stores if not one.going]
    surplus = max(0, len(candidates) - wanted)
    older = _older(candidates)
    if older:
        candidates = older
        draining = sum(one.draining_since is not None for one in older)
        surplus = max(draining, present - wanted)
    youngest_first = sorted(candidates, key=lambda one: (one.created, one.pod), reverse=True)
    ranked = sorted(
        youngest_first,
        key=lambda one: (
            not one.locks_asked,
            one.pod not in chosen,
            one.draining_since is None,
            one.ready,
            not one.cordoned,
        ),
    )
    return frozenset(one.pod for one in ranked[:surplus])


def _older(candidates: Sequence[CNStore]) -> list[CNStore]:
    """Return those that are not of the template that the youngest was made from."""
    if not candidates:
        return []
    newest = max(candidates, key=lambda one: (one.created, one.pod)).template
    return [one for one in candidates if one.template != newest]


def must_be_replaced(store: CNStore, chosen: frozenset[str]) -> bool:
    """Return whether a drain that was called off came too late: the locks are gone for good."""
    return store.locks_asked and not store.going and store.pod not in chosen


def wanted_state(store: CNStore, *, leaves: bool) -> State:
    """Return the work state that a store should have.

    Args:
        store: the Pod and its store.
        leaves: whether it is a victim or has to be replaced.
    """
    if leaves or store.going or store.cordoned:
        return State.DRAINING
    return State.WORKING


def opens_gate(store: CNStore) -> bool:
    """Return whether a Pod whose store is up in HAKeeper still waits for that to be said.

    It is said once: what happens to the node later, its own probes tell.
    """
    known = store.registration
    return store.gated and not store.going and known is not None and not known.expired


class Change(StrEnum):
    """A call to HAKeeper."""

    STATE = "State"
    """Set the work state, keep the labels."""
    LABELS = "Labels"
    """Replace all labels, keep the work state."""
    BOTH = "Both"
    """Set the work state and replace all labels."""


def change_needed(store: CNStore, state: State, policy: Policy) -> Change | None:
    """Return the call that makes HAKeeper agree; None when it does, or does not know the store.

    A store that leaves keeps its labels: the proxy finds its sessions another node by them. In a
    set that does not drain, a work state that somebody else has set is left alone.
    """
    known = store.registration
    if known is None or known.expired:
        return None
    ours = policy.drains or state is State.DRAINING or store.marked == State.DRAINING
    wrong_state = ours and known.state != state
    wrong_labels = state is State.WORKING and dict(known.labels) != dict(store.wanted_labels)
    if wrong_state and wrong_labels:
        return Change.BOTH
    if wrong_state:
        return Change.STATE
    return Change.LABELS if wrong_labels else None


class Step(StrEnum):
    """How far a drain is."""

    SPREADING = "Spreading"
    """Proxies and other nodes are still learning of it: counts are not to be trusted yet."""
    BUSY = "Busy"
    """There is work left, or it is unknown."""
    ASK_FOR_LOCKS = "AskForLocks"
    """Quiet: the transaction node is to be asked to take the locks back, once."""
    WAIT_FOR_LOCKS = "WaitForLocks"
    """It was asked, or cannot be asked now."""
    DONE = "Done"
    """Nothing is left."""
    GIVEN_UP = "GivenUp"
    """The time is over."""


FINISHED: Final = frozenset({Step.DONE, Step.GIVEN_UP})


@dataclass(frozen=True, slots=True)
class Drain:
    """How far the drain of one store is.

    Attributes:
        step: what comes next.
        message: what it waits for.
        until: when it is given up at the latest, Unix time.
    """

    step: Step
    message: str
    until: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether the Pod may be deleted."""
        return self.step in FINISHED


def next_step(
    store: CNStore,
    load: Load,
    locks: Locks,
    policy: Policy,
    now: float,
    *,
    needed: bool = True,
) -> Drain:
    """Return how far a drain is.

    Args:
        store: what drains; ``draining_since`` is set.
        load: what it is busy with.
        locks: what the transaction node says; asked for only when it is quiet.
        policy: how the set drains.
        now: the present, Unix time.
        needed: whether a compute node is left that may have transactions: not when all leave, and
            all are idle.
    """
    begun = now if store.draining_since is None else store.draining_since
    until = begun + max(policy.timeout, policy.delay)
    if not policy.drains:
        step, message = Step.DONE, "this set does not drain"
    elif now >= until:
        left = load.text() or "locks"
        step, message = Step.GIVEN_UP, f"gave up after {now - begun:.0f} s with {left} left"
    elif not store.process or (store.asked and store.registration is None):
        step, message = Step.DONE, "no process that HAKeeper knows"
    elif now < begun + policy.delay:
        step, message = (
            Step.SPREADING,
            f"{begun + policy.delay - now:.0f} s until all proxies and nodes know",
        )
    elif not load.idle:
        step, message = Step.BUSY, load.text()
    else:
        step, message = _step_of_locks(store, locks)
        patience = begun + policy.delay + _SECONDS_FOR_NOBODY
        if step is Step.WAIT_FOR_LOCKS and locks is Locks.HELD and not needed and now >= patience:
            step, message = Step.DONE, "drained except for locks that no transaction needs"
    return Drain(step, message, until)


def _step_of_locks(store: CNStore, locks: Locks) -> tuple[Step, str]:
    if locks in {Locks.HANDED_OVER, Locks.UNSUPPORTED}:
        return Step.DONE, "drained"
    if locks is Locks.HELD and not store.locks_asked:
        return Step.ASK_FOR_LOCKS, "its locks are to be handed over"
    waiting = "unknown locks" if locks is Locks.UNKNOWN else "locks of open transactions"
    return Step.WAIT_FOR_LOCKS, waiting


def replicas_to_keep(present: int, wanted: int, drains: Iterable[Drain]) -> int:
    """Return how many replicas the workload keeps for now.

    It shrinks when the drain of all victims is over, at once: Kubernetes then takes exactly them,
    because they have been the cheapest for as long as they drained.

    Args:
        present: replicas of the workload.
        wanted: replicas that the set should have.
        drains: those of the victims.
    """
    if present <= wanted or all(drain.finished for drain in drains):
        return wanted
    return present


def score(load: Load, process: str) -> str:
    """Return the text of the annotation ``matrixorigin.io/score``.

    Other controllers read it; a count that is not known is left out, where they used to write 0.
    """
    counts = {
        "sessionCount": load.sessions,
        "pipelineCount": load.pipelines,
        "replicaCount": load.replicas,
        "startedTime": process or None,
    }
    known = {name: value for name, value in counts.items() if value is not None}
    return json.dumps(known, separators=(",", ":"))


def load_of_score(text: str) -> Load:
    """Read that annotation; a bare number is a count of sessions (extended.md appendix A).

    Raises:
        ValueError: it is neither.
    """
    data = json.loads(text or "0")
    if data is None:
        raise ValueError(f"{text!r} is no score")
    if not isinstance(data, dict):
        data = {"sessionCount": data, "pipelineCount": 0, "replicaCount": 0}
    names = ("sessionCount", "pipelineCount", "replicaCount")
    counts = [data.get(name) for name in names]
    if any(isinstance(count, bool) or not isinstance(count, int | None) for count in counts):
        raise ValueError(f"{text!r} is no score")
    return Load(*counts)


def user_sessions(sessions: Iterable[tuple[str, bool]]) -> int:
    """Count the sessions that a drain waits for.

    Those that came through the proxy, which moves them, and those of tenants, which a release that
    does not say where sessions come from lists as well. What is left are the database's own and
    administrators' direct ones, which would never end.

    Args:
        sessions: account, and whether it came through the proxy.
    """
    return sum(proxied or account not in {"", "sys"} for account, proxied in sessions)
