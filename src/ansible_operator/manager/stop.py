# SPDX-License-Identifier: Apache-2.0
"""Signals that end the process."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ansible_operator.logs import get_logger

_LOG = get_logger("cmd")


@dataclass(slots=True)
class Stop:
    """The request to end, from a signal; the second one ends the process at once.

    Attributes:
        requested: set by the first signal.
        private: folder with the kubeconfigs of runs, which must not be left behind.
        abandon: ends runs that this process does not wait for.
    """

    requested: asyncio.Event = field(default_factory=asyncio.Event)
    private: Path | None = None
    abandon: Callable[[], None] = field(default=lambda: None)

    def install(self) -> None:
        """Listen to SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self.requested.is_set():
            self.abandon()
            if self.private is not None:
                shutil.rmtree(self.private, ignore_errors=True)
            os._exit(1)
        self.requested.set()  # first: nobody may read the log any more
        _LOG.info("Stopping", signal=number.name)
