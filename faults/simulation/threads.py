# SPDX-License-Identifier: Apache-2.0
"""Threads that work one after the other, in order: a point comes to the same each time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class InTurn(Executor):
    """Does what is submitted at once; whoever ends the process ends all of its threads."""

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "") -> None:
        del max_workers, thread_name_prefix

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function, and return what came of it."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)
        return future
