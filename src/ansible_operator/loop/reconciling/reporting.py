# SPDX-License-Identifier: Apache-2.0
"""An object's conditions before, during and after one run.

A periodic run of an object that was up to date, and that changes nothing, writes nothing: with
hundreds of objects and a short period, such writes would be most of an API server's load. As soon
as it changes something, fails or takes longer than a moment, it is reported like any other.

The first run of an object is reported as under way only if it takes longer than a moment, or if it
asks for objects of its own kind: there is no earlier result that would be taken for its own
meanwhile, and of many new objects at once each costs a write less. The play itself finds its object
reported, in its variables and on the server: roles rely on a status that is there.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.interface import Object
from ansible_operator.logs import get_logger
from ansible_operator.loop.reconciling.conditions import (
    FAILURE,
    REASON_SUCCESSFUL,
    RUNNING,
    SUCCESSFUL,
    Condition,
    Transitions,
    current,
)
from ansible_operator.loop.reconciling.last_run import last_run
from ansible_operator.loop.reconciling.objects import ObjectStore
from ansible_operator.loop.reconciling.play_result import PlayResult

MOMENT_SECONDS = 1.0

_LOG = get_logger("ansible-controller")
_Change = Callable[[list[Condition]], list[Condition]]


def has_succeeded(obj: Object) -> bool:
    """Whether the last run succeeded and none is under way, by the conditions."""
    found = {item["type"]: item for item in current(obj.get("status"))}
    return (
        found.get(SUCCESSFUL, {}).get("status") == "True"
        and found.get(FAILURE, {}).get("status") == "False"
        and found.get(RUNNING, {}).get("reason") == REASON_SUCCESSFUL
    )


class StatusReport:
    """The conditions of one object over one run.

    Args:
        objects: where the status is written.
        transitions: how conditions change.
        managed: whether the runner writes the status at all.
        quiet: whether the run may write nothing.
        first: whether no run of the object was ever reported.
        last_run: whether ``status.lastRun`` is written with the conditions.
    """

    def __init__(
        self,
        objects: ObjectStore,
        transitions: Transitions,
        *,
        managed: bool,
        quiet: bool,
        first: bool = False,
        last_run: bool = False,
    ) -> None:
        self._objects = objects
        self._transitions = transitions
        self._managed = managed
        self._quiet = quiet
        self._first = first
        self._last_run = last_run
        self._marked = not (quiet or first)
        self._begun: Object = {}
        self._timer: asyncio.TimerHandle | None = None
        self._late: asyncio.Task[None] | None = None
        self._marked_late: Object | None = None

    async def begin(self, obj: Object) -> Object | None:
        """A run begins; the object as it is to be played, None when it is deleted.

        Raises:
            KubeError: the status could not be written, so nothing may be run.
        """
        if not self._managed:
            return obj
        if not self._marked:
            loop = asyncio.get_running_loop()
            self._begun = obj
            self._timer = loop.call_later(MOMENT_SECONDS, self._begin_late)
            return self._as_running(obj) if self._first else obj
        return await self._objects.change_conditions(obj, self._transitions.running)

    def _as_running(self, obj: Object) -> Object:
        """The object as it will be on the server before the play looks at it there."""
        status = obj.get("status")
        status = status if isinstance(status, dict) else {}
        conditions = self._transitions.running(current(status))
        return {**obj, "status": {**status, "conditions": conditions}}

    async def look(self) -> str:
        """The play looks at objects of its own kind: report a first run as under way before that.

        Returns:
            The version of the object that was written; ``""`` if nothing was.
        """
        if not self._first or self._timer is None:
            return ""
        await asyncio.wait([self._begin_late()])
        written = self._marked_late or {"metadata": {}}
        return str(written["metadata"].get("resourceVersion", ""))

    def _begin_late(self) -> asyncio.Task[None]:
        if self._late is None:
            self._late = asyncio.create_task(self._mark_late(self._begun), name="late status")
        return self._late

    async def _mark_late(self, obj: Object) -> None:
        self._marked = True
        try:
            self._marked_late = await self._objects.change_conditions(
                obj, self._transitions.running
            )
        except KubeError as error:
            _LOG.info("The status of a run under way was not written", error=str(error))

    async def close(self) -> None:
        """The run is over, however it ended: nothing may report it as under way any more."""
        await self._stop_late()

    async def _stop_late(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._late is not None:
            self._late.cancel()
            await asyncio.wait([self._late])
            self._late = None

    async def end(self, obj: Object, outcome: PlayResult) -> Object | None:
        """A run has ended; the object afterwards, None when it is deleted.

        Raises:
            KubeError: the status could not be written.
        """
        await self._stop_late()
        message = "\n".join(outcome.failures)
        changed = bool(outcome.failures or outcome.result.changed)
        if self._quiet and not self._marked and not changed:
            return obj
        more = {"lastRun": last_run(outcome)} if self._last_run else None
        if outcome.failures:
            return await self._change(
                obj, lambda now: self._transitions.failed(now, message, outcome.result), more
            )
        return await self._change(
            obj, lambda now: self._transitions.succeeded(now, outcome.result), more
        )

    async def error(self, obj: Object, message: str) -> Object | None:
        """No run could be done, or it was interrupted.

        Raises:
            KubeError: the status could not be written.
        """
        await self._stop_late()
        return await self._change(obj, lambda now: self._transitions.errored(now, message))

    async def _change(
        self, obj: Object, change: _Change, more: Mapping[str, Any] | None = None
    ) -> Object | None:
        """Write a change, after the beginning of the run if that was kept quiet."""
        if not self._managed:
            return obj
        first = (lambda now: now) if self._marked else self._transitions.running
        latest = self._marked_late or obj
        return await self._objects.change_conditions(latest, lambda now: change(first(now)), more)
