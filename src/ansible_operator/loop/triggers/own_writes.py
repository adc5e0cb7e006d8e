# SPDX-License-Identifier: Apache-2.0
"""Remembers what runs have written, so that a run is not run again because of itself.

A change counts as a run's own only if the object is in exactly the version that the API server
gave as the answer to a write of that run; anything later or from another writer counts.
"""

import asyncio
from collections import OrderedDict
from typing import TypeAlias

from ansible_operator.kube.interface import Object
from ansible_operator.loop.queueing.queue import Key, WorkQueue

REMEMBERED = 20_000
COOLDOWN_SECONDS = 0.2
"""How long after its last run an object is run again because of a dependent.

What a run creates keeps changing for a moment, each change an event; and an event may come
before the answer to the write that caused it.
"""


State: TypeAlias = tuple[str, str]
"""The uid and the version of an object."""


def state_of(obj: Object) -> State:
    """Which object this is, in which version."""
    metadata = obj["metadata"]
    return metadata.get("uid", ""), metadata.get("resourceVersion", "")


class OwnWrites:
    """Versions of objects that runs have led to; the oldest are forgotten first."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._versions: OrderedDict[tuple[Key, str, str], None] = OrderedDict()

    def note(self, owner: Key, uid: str, version: str) -> None:
        """A run of ``owner`` has brought the object with this uid to this version."""
        if not uid or not version:
            return
        self._versions[owner, uid, version] = None
        if len(self._versions) > self._remembered:
            self._versions.popitem(last=False)

    def include(self, owner: Key, state: State) -> bool:
        """Whether the state of an object is what a run of ``owner`` has written."""
        return (owner, *state) in self._versions


class ForeignChanges:
    """Adds objects to the queue for changes that their own runs did not cause."""

    def __init__(self, queue: WorkQueue, own: OwnWrites) -> None:
        self._queue = queue
        self._own = own
        self._waiting: dict[Key, list[tuple[State, str, bool]]] = {}

    def consider(self, key: Key, changed: Object, reason: str, *, fresh: bool = False) -> None:
        """Run ``key`` because ``changed`` has changed, unless a run of ``key`` did that.

        The decision waits for the end of a run that is under way and a little longer, so that
        changes which come together lead to one run.
        """
        change = (state_of(changed), reason, fresh)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(change)
            return
        self._waiting[key] = [change]
        self._decide(key)

    def _decide(self, key: Key) -> None:
        """Decide on what waits, now or after the delay of the object."""
        cooldown = self._queue.cooldown(key, COOLDOWN_SECONDS)
        if cooldown > 0:
            asyncio.get_running_loop().call_later(cooldown, self._decide, key)
            return
        for state, reason, fresh in self._waiting.pop(key):
            if not self._own.include(key, state):
                self._queue.add(key, reason=reason, fresh=fresh, requested=fresh)
