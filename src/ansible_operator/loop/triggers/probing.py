# SPDX-License-Identifier: Apache-2.0
"""Runs objects again when a probe finds them not as they were left.

An addition to the contract: ``probe`` of a watch. What goes wrong inside a Pod may change no object
of the API server, so that no event leads to a run.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ansible_operator.background import note_failure
from ansible_operator.kube.interface import Object
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled

MOST_AT_ONCE = 2
"""Probes of a kind at the same time: a probe that waits must not keep runs from their processes."""

_LOG = get_logger("probe")


@dataclass(frozen=True, slots=True)
class Probing:
    """Asks the probe of a watch about each of its objects, spread over the period.

    Attributes:
        controlled: the kind.
        informers: the caches; that of the kind is running.
        is_as_reported: asks the probe about an object.
        queue: where runs wait.
    """

    controlled: Controlled
    informers: SharedInformers
    is_as_reported: Callable[[Object], Awaitable[bool]]
    queue: WorkQueue
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    async def run(self) -> None:
        """Probe until cancelled. A round takes a period, and longer when probes have to wait."""
        period = self.controlled.watch.probe.period
        async with asyncio.TaskGroup() as group:
            while True:
                began, keys = time.monotonic(), self._keys()
                for number, key in enumerate(keys):
                    due = began + period * number / len(keys)
                    await asyncio.sleep(max(0.0, due - time.monotonic()))
                    await self._slots.acquire()
                    group.create_task(self._probe(key), name=f"probe {'/'.join(key)}")
                await asyncio.sleep(max(0.0, began + period - time.monotonic()))

    def _keys(self) -> list[Key]:
        informer = self.informers.peek(self.controlled.resource)
        found = informer.list() if informer is not None else ()
        names = sorted(
            (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in found
        )
        keys = (Key(self.controlled.name, *name) for name in names)
        return [key for key in keys if self.queue.includes(key)]

    async def _probe(self, key: Key) -> None:
        """Ask about one object; what runs now, or ends, is asked nothing."""
        try:
            obj = self._object(key)
            if obj is None or self.queue.is_active(key):
                return
            if not await self.is_as_reported(obj) and not self.queue.is_active(key):
                _LOG.debug("A probe asks for a run", key="/".join(key))
                self.queue.add(key, reason="probe", probed=True)
        except Exception:  # noqa: BLE001  # the other objects are still to be asked about
            note_failure("probe", "An object cannot be probed", key="/".join(key))
        finally:
            self._slots.release()

    def _object(self, key: Key) -> Object | None:
        informer = self.informers.peek(self.controlled.resource)
        obj = informer.get(key.namespace, key.name) if informer is not None else None
        if obj is None or obj["metadata"].get("deletionTimestamp"):
            return None
        return obj if self.controlled.watch.selects(obj["metadata"]) else None
