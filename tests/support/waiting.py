# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition with a deadline; nothing else in the tests does."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def eventually(
    observe: Callable[[], T | None],
    seconds: float = 60.0,
    what: str = "",
    *,
    pause: float = 0.0,
    otherwise: Callable[[], Any] | None = None,
) -> T:
    """Return the first true result of ``observe``.

    Args:
        observe: called again and again.
        seconds: after which the test fails.
        what: it waits for; the message names it.
        pause: between two calls; without one it is 1/10 of the time waited, up to half a second.
        otherwise: called for what the message reports besides, e.g. the present state.
    """
    begun = time.monotonic()
    while not (found := observe()):
        waited = time.monotonic() - begun
        assert waited < seconds, _failure(what, seconds, found, otherwise)
        time.sleep(pause or min(max(waited / 10, 0.05), 0.5))
    return found


async def eventually_async(
    observe: Callable[[], T | None], seconds: float = 60.0, what: str = "", *, pause: float = 0.01
) -> T:
    """Return the first true result of ``observe``; other tasks run meanwhile."""
    deadline = time.monotonic() + seconds
    while not (found := observe()):
        assert time.monotonic() < deadline, _failure(what, seconds, found, None)
        await asyncio.sleep(pause)
    return found


def _failure(what: str, seconds: float, found: object, otherwise: Callable[[], Any] | None) -> str:
    state = f"; {otherwise()}" if otherwise else ""
    return f"{what or 'the condition'}: not within {seconds:g} s (last: {found!r}){state}"


def unchanged(observe: Callable[[], T], seconds: float, within: float = 60.0) -> T:
    """Wait until a value has been the same for some seconds, and return it."""
    deadline = time.monotonic() + within + seconds
    seen, since = observe(), time.monotonic()
    while time.monotonic() - since < seconds:
        assert time.monotonic() < deadline, f"still changing after {within:g} s: {seen!r}"
        time.sleep(0.1)
        if (now := observe()) != seen:
            seen, since = now, time.monotonic()
    return seen
