# SPDX-License-Identifier: Apache-2.0
"""What becomes of each Pod: served, released, drained, available, deleted.

Unknown is not zero: a Pod becomes idle only if its compute node said, after every proxy had time to
learn that it drains, that nothing is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ..clients.matrixone.records import Labels, WorkState
from ..compute.drain import Locks
from . import keys
from .binding import bind, note, release, terminate, to_idle
from .claims import claim_for, is_available, is_in_use, leaving_because
from .facts import ClaimFacts, Phase, PodFacts, StoreFacts
from .round import Round, holds, is_outdated
from .writes import HandOver, OpenGate, PodDelete, StoreWrite

_POLL_SECONDS: Final = 5.0
_FIRST_POLL_SECONDS: Final = 2.0
_LAST_POLL_SECONDS: Final = 60.0
_SHARE_OF_AGE: Final = 0.1
"""A Pod that has not registered is looked at again after this part of its age."""
_SECONDS_FOR_ANOTHER: Final = 5.0
"""A claim set replaces a Pod that somebody deletes within this time; until then it serves."""
_LOCKS_POLL_SECONDS: Final = 2.0
_NO_LOCKS: Final = frozenset({Locks.HANDED_OVER, Locks.UNSUPPORTED})
_REFUSED: Final = "was not heard, or did not answer, for too long"
_WHOLE_SECOND: Final = 1.0
"""Annotations have whole seconds."""


def advance_pods(work: Round, pods: Iterable[PodFacts]) -> None:
    """Plan what to do for Pods of the pool, apart from what claims and sizes ask for."""
    for pod in pods:
        if pod.deleting:
            _ending(work, pod)
            continue
        if pod.ended or pod.phase is Phase.TERMINATING:
            why = "ended" if pod.ended else "no longer needed"
            delete = PodDelete(pod.name, pod.uid, pod.version, why)
            work.add(delete, on=f"Pod/{pod.name}", fresh=False)
            continue
        if pod.gated and work.snapshot.store(pod.name).known:
            work.add(OpenGate(pod.name, pod.uid), on=f"Gate/{pod.name}", fresh=False)
        if work.snapshot.store(pod.name).refused:
            # No claim can go on with it, and no other one may get it.
            work.add(terminate(pod, _REFUSED, "Replaced"), on=f"Pod/{pod.name}")
        elif f"Pod/{pod.name}" not in work.touched:
            _STEPS[pod.phase](work, pod)


def release_pod(work: Round, pod: PodFacts, why: str) -> None:
    """Take a Pod from its claim: no new sessions first, then the Pod is Draining.

    Its store keeps its labels until then: were they removed by a call that comes late, when another
    process has let it work again, it would serve every tenant. Without an answer of HAKeeper the
    Pod drains already, so that its time runs.
    """
    snapshot, store = work.snapshot, work.snapshot.store(pod.name)
    if snapshot.reached and store.known and not store.drains:
        _set_store(work, pod, WorkState.DRAINING, None, why)
        return
    # The time of its drain begins when it has no labels any more: late calls end before it does.
    drains = store.clean or (snapshot.reached and store.known is False)
    claim = snapshot.claims.get(pod.claim)
    work.add(release(pod, claim, snapshot.now, why, drains=drains), on=f"Pod/{pod.name}")


def _unknown(work: Round, pod: PodFacts) -> None:
    store = work.snapshot.store(pod.name)
    if store.known and not store.clean:
        _set_store(work, pod, WorkState.DRAINING, {}, "waits for a claim")
    elif store.clean and pod.ready:
        work.add(to_idle(pod, work.snapshot.now), on=f"Pod/{pod.name}")
    else:
        # No event of Kubernetes says that HAKeeper has learnt of a store.
        age = work.snapshot.now - pod.created
        work.wake(min(max(age * _SHARE_OF_AGE, _FIRST_POLL_SECONDS), _LAST_POLL_SECONDS))


def _idle(work: Round, pod: PodFacts) -> None:
    """Bind an idle Pod to the claim that names it; let it drain if it was not left clean."""
    store = work.snapshot.store(pod.name)
    claim = claim_for(work, pod)
    if claim is not None and is_available(work, pod) and not work.snapshot.pool.deleting:
        work.add(bind(pod, claim, work.snapshot.now), on=f"Pod/{pod.name}")
    elif pod.claim or (store.known and (store.state is WorkState.WORKING or store.labels)):
        why = "was not drained"
        write = release(pod, None, work.snapshot.now, why, drains=False)
        work.add(write, on=f"Pod/{pod.name}")
    elif store.known and not store.clean:
        _set_store(work, pod, WorkState.DRAINING, {}, "waits for a claim")


def _bound(work: Round, pod: PodFacts) -> None:
    claim = work.snapshot.claims.get(pod.claim)
    if work.snapshot.pool.deleting:
        release_pod(work, pod, "its pool is being deleted")
    elif claim is None or claim.deleting or not holds(claim, pod):
        release_pod(work, pod, f"CNClaim {pod.claim} is gone")
    else:
        _bound_to(work, pod, claim)


def _bound_to(work: Round, pod: PodFacts, claim: ClaimFacts) -> None:
    why = leaving_because(work, claim, pod)
    store = work.snapshot.store(pod.name)
    if why:
        release_pod(work, pod, why)
    elif store.known and not store.serves(claim.cn_labels) and is_in_use(work, claim, pod):
        _set_store(work, pod, WorkState.WORKING, claim.cn_labels, f"serves CNClaim {claim.name}")


def _draining(work: Round, pod: PodFacts) -> None:
    snapshot, store = work.snapshot, work.snapshot.store(pod.name)
    policy, now = snapshot.pool.drain, snapshot.now
    if pod.reclaimed_at is None:
        _note(work, pod, keys.ANNOTATION_RECLAIMED_AT, now, "drains")
        return
    left = pod.reclaimed_at + max(policy.timeout, policy.delay) - now
    leaves = is_leaving(work, pod)
    if is_drained(pod, store, policy.delay):
        why = "drained"
        write = terminate(pod, why) if leaves else to_idle(pod, now)
        work.add(write, on=f"Pod/{pod.name}")
    elif left <= 0:
        why = f"not drained within {policy.timeout} s: {_what_is_left(snapshot.reached, store)}"
        work.add(terminate(pod, why, "DrainTimedOut"), on=f"Pod/{pod.name}")
    elif leaves and _is_out_of_reach(work, store, pod.reclaimed_at):
        work.add(terminate(pod, "HAKeeper does not know it"), on=f"Pod/{pod.name}")
    else:
        _go_on_draining(work, pod, store)
        work.wake(min(left, _POLL_SECONDS))


def _go_on_draining(work: Round, pod: PodFacts, store: StoreFacts) -> None:
    """Make sure that the store drains, note since when, then find out what is left.

    The note is removed before the store is set again: else whoever is interrupted in between would
    leave a note that is older than the drain.
    """
    now, delay = work.snapshot.now, work.snapshot.pool.drain.delay
    since = pod.draining_since
    if store.known and not store.drains and since is not None:
        _note(work, pod, keys.ANNOTATION_DRAINING_SINCE, None, "drains anew")
    elif store.known and not store.clean:
        _set_store(work, pod, WorkState.DRAINING, {}, "drains")
    elif since is None:
        if store.clean:
            _note(work, pod, keys.ANNOTATION_DRAINING_SINCE, now, "drains")
    elif now >= since + delay and store.clean:
        work.sample.append(pod.name)


def is_drained(pod: PodFacts, store: StoreFacts, delay: int) -> bool:
    """Return whether it is known that nothing is left on a draining Pod.

    Args:
        pod: the Pod.
        store: its store.
        delay: seconds until all proxies know that it drains; older answers do not count.
    """
    if pod.draining_since is None or store.sampled_at is None:
        return False
    since = pod.draining_since + delay
    return store.clean and store.load.idle and min(store.seen_at, store.sampled_at) >= since


def is_leaving(work: Round, pod: PodFacts) -> bool:
    """Return whether a Pod is deleted after its drain."""
    deleting = work.snapshot.pool.deleting
    return pod.delete_on_reclaim or pod.direct or deleting or is_outdated(work, pod)


def _is_out_of_reach(work: Round, store: StoreFacts, since: float) -> bool:
    """Return whether nothing can be drained: HAKeeper lacks the store, or went before the pool.

    An answer from before the drain does not count: a store that HAKeeper had given up may have
    registered again since, with its sessions.
    """
    snapshot = work.snapshot
    if not snapshot.reached:
        return snapshot.pool.deleting
    return store.known is False and store.seen_at >= since + _WHOLE_SECOND


def _what_is_left(reached: bool, store: StoreFacts) -> str:
    if not reached:
        return "HAKeeper does not answer"
    return store.load.text() or "it is not known what is left"


def _ending(work: Round, pod: PodFacts) -> None:
    """Empty a Pod that is being deleted, while its preStop hook keeps it up.

    For about a minute, statements wait for the locks of a compute node that has gone with them.
    """
    snapshot, store = work.snapshot, work.snapshot.store(pod.name)
    if pod.ended or not pod.was_used or not store.known or store.locks in _NO_LOCKS:
        return
    leaves = pod.phase is Phase.TERMINATING
    empty = store.load.idle if leaves else is_drained(pod, store, snapshot.pool.drain.delay)
    if store.locks_asked and pod.locks_asked_at is None:
        _note(work, pod, keys.ANNOTATION_LOCKS_ASKED_AT, snapshot.now, "hands over its locks")
    elif empty:
        work.hand_over.append(HandOver(pod.name, begins=pod.locks_asked_at is None))
    elif leaves and store.sampled_at is None:
        work.sample.append(pod.name)
    elif not leaves and snapshot.now >= pod.deleted_at + _SECONDS_FOR_ANOTHER:
        _go_on_draining(work, pod, store)
    work.wake(_LOCKS_POLL_SECONDS)


def _note(work: Round, pod: PodFacts, key: str, at: float | None, why: str) -> None:
    work.add(note(pod, {key: at}, why), on=f"Pod/{pod.name}")


def _set_store(
    work: Round, pod: PodFacts, state: WorkState, labels: Labels | None, why: str
) -> None:
    work.add(StoreWrite(pod.name, state, labels, why), on=f"Store/{pod.name}")


_STEPS: Final[Mapping[Phase, Callable[[Round, PodFacts], None]]] = {
    Phase.UNKNOWN: _unknown,
    Phase.IDLE: _idle,
    Phase.BOUND: _bound,
    Phase.DRAINING: _draining,
}
