# SPDX-License-Identifier: Apache-2.0
"""A bound of what runs of all objects together leave on the disk."""

import asyncio
from functools import partial

from ansible_operator.background import note_failure
from ansible_operator.engine import rundir
from ansible_operator.engine.artifact_folders import remove_oldest
from ansible_operator.engine.disk_threads import in_disk_thread
from ansible_operator.logs import get_logger
from ansible_operator.loop.settings import RunSettings

_PARTS = 10
"""How often the folders are counted while as many runs end as may be kept."""

_LOG = get_logger("runner")


class ArtifactLimit:
    """Counts runs, and removes the oldest artifacts when there may be too many.

    Each object keeps a number of its own; whoever creates many objects has that many times the
    disk. The folders are counted once in a tenth of the limit, and reduced to nine tenths of it.
    """

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._step = max(1, settings.total_artifacts // _PARTS)
        self._runs = self._step  # what earlier processes have left counts with the first run
        self._sweep: asyncio.Task[None] | None = None

    def count_run(self) -> None:
        """Note that a run has ended; artifacts are removed in the background."""
        self._runs += 1
        if self._runs > self._step and (self._sweep is None or self._sweep.done()):
            self._runs = 0
            self._sweep = asyncio.create_task(self._remove(), name="artifact limit")

    async def wait(self) -> None:
        """Wait until nothing is being removed."""
        if self._sweep is not None:
            await self._sweep

    async def _remove(self) -> None:
        settings = self._settings
        keep = max(1, settings.total_artifacts - self._step)
        try:
            if not await in_disk_thread(partial(rundir.claim, settings.run_root, settings.cluster)):
                return
            removed = await in_disk_thread(partial(remove_oldest, settings.run_root, keep))
        except OSError as error:
            _LOG.error("Artifacts of runs cannot be counted", error=str(error))
            return
        except Exception:  # noqa: BLE001  # the next sweep tries again
            note_failure("artifacts", "Artifacts of runs cannot be counted")
            return
        if removed:
            _LOG.info("Removed the oldest artifacts", removed=removed, limit=keep + self._step)
