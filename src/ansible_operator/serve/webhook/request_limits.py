# SPDX-License-Identifier: Apache-2.0
"""Takes the bodies of reviews: few at the same time, of a limited size, in a limited time.

Every client that reaches the port may send them, and one that is parsed takes many times its size.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from aiohttp import web

from ansible_operator.errors import OperatorError
from ansible_operator.serve.webhook.review import LARGEST_REVIEW, MalformedReviewError

BODY_SECONDS = 2.0
"""Longest time in which a body must have come once it is read; API servers send it at once."""
READING = 16
"""Reviews whose bodies are held at the same time."""
JUDGING = 4
"""Reviews that are parsed at the same time, as many as there are processes of functions at most."""


class UnansweredError(OperatorError):
    """A review has no answer; the failure policy decides."""


class Intake:
    """The room for reviews."""

    def __init__(self) -> None:
        self._reading = asyncio.Semaphore(READING)
        self._judging = asyncio.Semaphore(JUDGING)

    @contextlib.asynccontextmanager
    async def body(self, request: web.BaseRequest, deadline: float) -> AsyncIterator[bytes]:
        """Read a body once there is room for it, and hold the room while it is judged.

        Reviews that wait for room are connections and no more. Nothing is read of those that say
        that they are too large.

        Args:
            request: whose body is not read yet.
            deadline: of ``time.monotonic()``.

        Raises:
            MalformedReviewError: it is too large.
            UnansweredError: there is no room, or it does not come, in time.
        """
        if (request.content_length or 0) > LARGEST_REVIEW:
            raise MalformedReviewError(f"longer than {LARGEST_REVIEW} bytes")
        async with _slot(self._reading, deadline):
            body = await _read(request, deadline)
            async with _slot(self._judging, deadline):
                yield body


@contextlib.asynccontextmanager
async def _slot(slots: asyncio.Semaphore, deadline: float) -> AsyncIterator[None]:
    """Hold one of the slots, which is free in time.

    Raises:
        UnansweredError: none is.
    """
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            await slots.acquire()
    except TimeoutError as error:
        raise UnansweredError("there are too many reviews at the same time") from error
    try:
        yield
    finally:
        slots.release()


async def _read(request: web.BaseRequest, deadline: float) -> bytes:
    """The body of a review.

    Raises:
        MalformedReviewError: it is too large.
        UnansweredError: it does not come in time.
    """
    seconds = max(0.0, min(BODY_SECONDS, deadline - time.monotonic()))
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            while part := await request.content.readany():
                size += len(part)
                if size > LARGEST_REVIEW:
                    raise MalformedReviewError(f"longer than {LARGEST_REVIEW} bytes")
                parts.append(part)
    except TimeoutError as error:
        raise UnansweredError(f"the review was not sent within {seconds:.1f} s") from error
    return b"".join(parts)
