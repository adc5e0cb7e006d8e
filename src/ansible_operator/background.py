# SPDX-License-Identifier: Apache-2.0
"""Tasks in the background: one that fails begins again, and takes nothing else with it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from ansible_operator import metrics
from ansible_operator.logs import get_logger

FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
HEALTHY_SECONDS = 120.0
"""Time after which a task that fails begins again as soon as at its first failure."""

_LOG = get_logger("background")


async def keep_running(
    name: str,
    work: Callable[[], Awaitable[None]],
    *,
    fatal: tuple[type[Exception], ...] = (),
    first_delay: float = FIRST_DELAY,
) -> None:
    """Work to the end; after a failure again, with a delay that grows up to a minute.

    Args:
        name: of the work, in logs and metrics.
        work: called for each attempt.
        fatal: errors that are raised: those that must end the process.
        first_delay: seconds before the second attempt.
    """
    failures = 0
    while True:
        started = time.monotonic()
        try:
            return await work()
        except Exception as error:
            if _has(error, fatal):
                raise
            lasted = time.monotonic() - started
            failures = 1 if lasted > HEALTHY_SECONDS else failures + 1
            delay = min(first_delay * 2.0 ** min(failures - 1, 16), LONGEST_DELAY)
            note_failure(name, "A background task failed and begins again", retry_after=delay)
        await asyncio.sleep(delay)


def note_failure(part: str, text: str, **keys: object) -> None:
    """Log and count the exception that is being handled, and that goes no further."""
    metrics.ISOLATED_FAILURES.labels(part).inc()
    _LOG.error(text, part=part, exc_info=True, **keys)


def _has(error: BaseException, kinds: tuple[type[Exception], ...]) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_has(inner, kinds) for inner in error.exceptions)
    return isinstance(error, kinds)
