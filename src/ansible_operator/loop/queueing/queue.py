# SPDX-License-Identifier: Apache-2.0
"""The work queue: which object is to be run next.

One entry per object however often it is added, never two runs of one object at once, a cap for
all kinds together that leaves each kind one run, and a cap per kind, changed objects before
periodic ones.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ansible_operator.kube.names import is_name
from ansible_operator.loop.queueing.bucket import Bucket
from ansible_operator.loop.queueing.times import QueueTimes
from ansible_operator.watches import Retry

LONGEST_COOLDOWN = 10.0
"""Seconds for which the end of a run is remembered."""
MOST_REASONS = 5
"""Reasons that are kept of one object; a storm of events has hundreds."""


class Key(NamedTuple):
    """An object of one controller."""

    controller: str
    namespace: str
    name: str


class Priority(IntEnum):
    """Order of precedence: objects that changed, then those whose period has passed."""

    CHANGED = 0
    PERIODIC = 1


_PRIORITIES = {Priority.CHANGED: "0", Priority.PERIODIC: "-100"}
"""Values of the label ``priority``, as controller-runtime numbers them."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Why an object is run.

    Attributes:
        reason: for logs and messages.
        fresh: whether the object itself has changed, not only time or other objects.
        requested: whether somebody has changed it since it was first observed.
        failed: whether its last run has failed.
        probed: whether a probe of the object asks for a run.
        prechecked: whether the watch's check has just found that a run would change something.
    """

    reason: str
    fresh: bool
    requested: bool = False
    failed: bool = False
    probed: bool = False
    prechecked: bool = False


@dataclass(slots=True)
class _Triggers:
    reasons: dict[str, None] = field(default_factory=dict)
    fresh: bool = False
    requested: bool = False
    probed: bool = False


@dataclass(slots=True)
class _Delayed:
    due: float
    priority: Priority
    reason: str
    handle: asyncio.TimerHandle


def _can_exist(key: Key) -> bool:
    """Whether an object can have this name: a key becomes a path in URLs and on the disk."""
    return is_name(key.name) and (not key.namespace or is_name(key.namespace))


class WorkQueue:
    """Objects waiting for a run. All methods belong to the event loop's thread.

    Args:
        total: runs at the same time over all controllers; one that has none may exceed it by one.
        limits: runs at the same time per controller.
        retries: back-off per controller.
        clock: monotonic seconds.
        includes: whether an object is run by this process; None for all.
    """

    def __init__(
        self,
        total: int,
        limits: Mapping[str, int],
        retries: Mapping[str, Retry] | None = None,
        clock: Callable[[], float] = time.monotonic,
        includes: Callable[[Key], bool] | None = None,
    ) -> None:
        self._includes = includes
        self._total = total
        self._limits = dict(limits)
        self._times = QueueTimes(limits, clock)
        self._retries = dict(retries or {})
        self._clock = clock
        self._bucket = Bucket(clock)
        self._order = itertools.count()
        self._ready: dict[tuple[str, Priority], deque[tuple[int, Key]]] = {
            (name, priority): deque() for name in limits for priority in Priority
        }
        self._waiting: dict[Key, Priority] = {}
        self._active: dict[str, set[Key]] = {name: set() for name in limits}
        self._without_slot: set[Key] = set()
        self._again: dict[Key, Priority] = {}
        self._delayed: dict[Key, _Delayed] = {}
        self._requested: dict[Key, _Delayed] = {}
        self._failures: dict[Key, int] = {}
        self._triggers: dict[Key, _Triggers] = {}
        self._ended: dict[Key, float] = {}
        self._changed = asyncio.Event()
        self._closed = False

    def add(
        self,
        key: Key,
        priority: Priority = Priority.CHANGED,
        reason: str = "",
        *,
        fresh: bool = False,
        requested: bool = False,
        probed: bool = False,
    ) -> None:
        """Run an object as soon as possible; while it runs, once more afterwards.

        Args:
            key: the object.
            priority: what it may overtake.
            reason: why, for logs; reasons of several adds are joined.
            fresh: whether the object itself has changed.
            requested: whether somebody has requested a run by that.
            probed: whether a probe of the object asks for a run.
        """
        if self._closed or not (_can_exist(key) and self.includes(key)):
            return
        trigger = self._triggers.setdefault(key, _Triggers())
        trigger.fresh |= fresh
        trigger.requested |= requested
        trigger.probed |= probed
        if reason and len(trigger.reasons) < MOST_REASONS:
            trigger.reasons[reason] = None
        if key in self._active[key.controller]:
            self._times.added(key.controller, key)
            self._again[key] = min(priority, self._again.get(key, priority))
            return
        if (waiting := self._waiting.get(key)) is not None and waiting <= priority:
            return
        self._times.added(key.controller, key)
        self._waiting[key] = priority
        self._ready[key.controller, priority].append((next(self._order), key))
        self._observe(key.controller)
        self._changed.set()

    def includes(self, key: Key) -> bool:
        """Whether an object is run by this process; others are neither added nor remembered."""
        return self._includes is None or self._includes(key)

    def add_after(
        self, key: Key, delay: float, priority: Priority = Priority.PERIODIC, reason: str = ""
    ) -> None:
        """Add an object after a delay in seconds; of several pending times the earliest counts.

        With a reason somebody has requested that run; without one it is periodic, or a retry.
        """
        if delay <= 0:
            self.add(key, priority, reason, requested=bool(reason))
            return
        due = self._clock() + delay
        pending = self._delayed.get(key)
        if self._closed or not self.includes(key):
            return
        if pending is not None and pending.due <= due:
            return
        if pending is not None:
            pending.handle.cancel()
        handle = asyncio.get_running_loop().call_later(delay, self._mature, key)
        self._delayed[key] = _Delayed(due, priority, reason, handle)

    def _mature(self, key: Key) -> None:
        delayed = self._delayed.pop(key)
        self.add(key, delayed.priority, delayed.reason, requested=bool(delayed.reason))

    def retry(self, key: Key) -> float:
        """Add an object after its back-off delay, which is returned in seconds."""
        policy = self._retries.get(key.controller, Retry())
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._times.failed(key.controller)
        own = min(policy.first * 2.0 ** min(failures, 64), policy.longest)
        delay = max(own, self._bucket.reserve())
        self.add_after(key, delay, Priority.CHANGED if failures < 3 else Priority.PERIODIC)
        return delay

    def forget(self, key: Key) -> None:
        """Reset the back-off of an object."""
        self._failures.pop(key, None)

    def drop(self, key: Key) -> None:
        """Forget an object that was deleted, pending times included."""
        self.forget(key)
        self._requested.pop(key, None)
        self._ended.pop(key, None)
        if (pending := self._delayed.pop(key, None)) is not None:
            pending.handle.cancel()

    def discard(self, matches: Callable[[Key], bool]) -> None:
        """Forget objects that another process runs from now on; runs under way are not ended."""
        known = {*self._waiting, *self._again, *self._delayed, *self._requested, *self._failures}
        for key in filter(matches, known | self._triggers.keys() | self._ended.keys()):
            self.drop(key)
            self._again.pop(key, None)
            self._triggers.pop(key, None)
            if self._waiting.pop(key, None) is not None:
                self._times.discarded(key.controller, key)
        for (name, priority), ready in self._ready.items():
            left = [entry for entry in ready if self._waiting.get(entry[1]) is priority]
            ready.clear()
            ready.extend(left)
            self._observe(name)

    def active(self) -> list[Key]:
        """The objects that are being run."""
        return [key for keys in self._active.values() for key in keys]

    async def get(self) -> Key:
        """The next object to run; :meth:`done` must follow, :meth:`release_slot` may come first."""
        while True:
            if (key := self._pop()) is not None:
                return key
            self._changed.clear()
            await self._changed.wait()

    def _pop(self) -> Key | None:
        for priority in Priority:
            heads = [
                (self._ready[name, priority][0], name)
                for name in self._limits
                if self._heads_live(name, priority) and self._has_slot(name)
            ]
            if heads:
                (_, key), name = min(heads)
                self._ready[name, priority].popleft()
                return self._start(key)
        return None

    def _has_slot(self, name: str) -> bool:
        """Whether one more object of a controller may be run.

        Each controller may always have one run: plays wait for objects of other kinds that they
        create, and if they held all slots, these would never be run.
        """
        own = self._running(name)
        if not own:
            return True
        return own < self._limits[name] and sum(map(self._running, self._active)) < self._total

    def _running(self, name: str) -> int:
        """How many objects of a controller hold a slot."""
        return len(self._active[name] - self._without_slot)

    def _heads_live(self, name: str, priority: Priority) -> bool:
        """Drop entries at the head that have moved to another lane; whether one is left."""
        ready = self._ready[name, priority]
        while ready and self._waiting.get(ready[0][1]) is not priority:
            ready.popleft()
        return bool(ready)

    def _start(self, key: Key) -> Key:
        del self._waiting[key]
        if (pending := self._delayed.pop(key, None)) is not None:
            pending.handle.cancel()
            if pending.reason:
                self._requested[key] = pending
        self._active[key.controller].add(key)
        self._times.started(key.controller, key)
        self._observe(key.controller)
        return key

    def restore(self, key: Key) -> bool:
        """Nothing was played: the time that the last play has asked for counts as before.

        Returns:
            Whether it has asked for one.
        """
        pending = self._requested.pop(key, None)
        if pending is None:
            return False
        self.add_after(key, pending.due - self._clock(), pending.priority, pending.reason)
        return True

    def release_slot(self, key: Key) -> None:
        """A play has ended, only its result is to be written: another one may begin meanwhile.

        The object itself is not run again before :meth:`done`. If as many results as there are
        slots wait to be written, for a server that is slow, this one keeps its slot.
        """
        if key in self._active[key.controller] and len(self._without_slot) < self._total:
            self._without_slot.add(key)
            self._observe(key.controller)
            self._changed.set()

    def done(self, key: Key) -> None:
        """An object's run has ended, and its result is written."""
        self._active[key.controller].discard(key)
        self._without_slot.discard(key)
        self._requested.pop(key, None)
        self._note_end(key)
        self._times.done(key.controller, key)
        priority = self._again.pop(key, None)
        if priority is not None:
            self.add(key, priority)
        self._observe(key.controller)
        self._changed.set()

    def _note_end(self, key: Key) -> None:
        """Note when a run has ended, for as long as somebody may ask."""
        now = self._clock()
        self._ended.pop(key, None)
        self._ended[key] = now
        while (oldest := next(iter(self._ended))) != key:
            if self._ended[oldest] > now - LONGEST_COOLDOWN:
                break
            del self._ended[oldest]

    def trigger(self, key: Key) -> Trigger:
        """Why an object just taken is to be run; called once per run."""
        triggers = self._triggers.pop(key, None) or _Triggers()
        failed = key in self._failures
        reason = ", ".join(triggers.reasons) or ("retry" if failed else "period")
        return Trigger(
            reason,
            fresh=triggers.fresh,
            requested=triggers.requested,
            failed=failed,
            probed=triggers.probed,
        )

    def close(self) -> None:
        """Accept no more objects and forget those that wait."""
        self._closed = True
        for delayed in self._delayed.values():
            delayed.handle.cancel()
        self._delayed.clear()
        self._waiting.clear()
        self._times.closed()
        self._again.clear()
        self._requested.clear()
        self._triggers.clear()
        for ready in self._ready.values():
            ready.clear()

    def is_active(self, key: Key) -> bool:
        """Whether an object is being run."""
        return key in self._active[key.controller]

    def cooldown(self, key: Key, seconds: float) -> float:
        """For how long an object has to wait until so many seconds have passed since its last run.

        While it runs, that is all of them. Ends are forgotten after :data:`LONGEST_COOLDOWN`.
        """
        if self.is_active(key):
            return seconds
        ended = self._ended.get(key)
        return 0.0 if ended is None else max(0.0, ended + seconds - self._clock())

    def waiting(self, controller: str) -> int:
        """How many objects of a controller wait for a worker."""
        return sum(1 for key in self._waiting if key.controller == controller)

    def _observe(self, controller: str) -> None:
        depths = {
            _PRIORITIES[priority]: len(self._ready[controller, priority]) for priority in Priority
        }
        self._times.show(controller, self._running(controller), depths)
