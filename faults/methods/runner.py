# SPDX-License-Identifier: Apache-2.0
"""What enters the runner is bounded, whatever a tenant writes; what a play asks for is done.

Answers of an API server with a resource of each kind, nested deeply or with odd metadata; the queue
of a controller while other events come between a play and the time that it has asked for; writes of
runs and of others to one object; and a run that is killed while its worker lives on.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import random
import time
from collections.abc import Iterator
from typing import Any

from ansible_operator.kube import documents
from ansible_operator.loop.queueing.queue import Key, Trigger, WorkQueue
from ansible_operator.loop.queueing.workers import ReconcileResult, Workers
from ansible_operator.nesting import OBJECT_LEVELS
from faults import dead_runs, own_writes
from faults.points import Fault, Method, Point
from faults.scenes import subject
from tests.support import hostile

Json = dict[str, Any]
NAME = "runner"
DOCUMENTS, QUEUE, WRITES, KILLED = "documents", "queue", "writes", "killed"
_SEEDS = 300
_OF_TWENTY = {0: QUEUE, 1: KILLED, 10: QUEUE, 5: WRITES, 9: WRITES, 15: WRITES, 19: WRITES}
"""What of twenty points is about something else than documents; some of it takes a second."""
_ASKED_SECONDS = 0.15
_LATEST_SECONDS = 5.0


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds of documents, and some of the others."""
    for number in range(_SEEDS):
        what = _OF_TWENTY.get(number % 20, DOCUMENTS)
        yield Point(NAME, kind, f"{what}:{rng.randrange(10**6)}")


def run(point: Point) -> None:
    """Give the runner a document, events, writes, or a dead process.

    Raises:
        Fault: it is not bounded, what was asked for is forgotten, or something is not noticed.
    """
    what, _, seed = point.place.partition(":")
    rng = random.Random(int(seed))  # noqa: S311 - repeatable
    if what == QUEUE:
        # The log of the loop is for its own tests.
        with contextlib.redirect_stdout(io.StringIO()):
            asyncio.run(_asked(Key(point.kind, "prod", "mo"), rng))
    elif what == WRITES:
        own_writes.run(rng)
    elif what == KILLED:
        dead_runs.run(rng)
    else:
        _bounded(_document(point.kind, rng))


def _document(kind: str, rng: random.Random) -> bytes:
    found = subject(kind)
    found["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    for _ in range(rng.randint(1, 3)):
        part = rng.choice((found, found["metadata"], found.setdefault("status", {})))
        value: Any = rng.choice(
            (
                hostile.Deep(rng.choice(hostile.DEPTHS), rng.random() < 0.5),
                rng.choice(hostile.STRINGS),
                rng.choice((None, [], {}, 10**30, -1, True)),
            )
        )
        if isinstance(part, dict):
            part[rng.choice((*part, *hostile.KEYS))] = value
    return hostile.encode(found)


def _bounded(raw: bytes) -> None:
    try:
        read = documents.read_object(documents.decode(raw))
    except documents.UnreadableAnswerError:
        return
    except (RecursionError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise Fault(f"an answer raises {type(error).__name__}: {error}") from error
    levels, level = 0, [read]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        levels += 1
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    if levels > OBJECT_LEVELS:
        raise Fault(f"an object of {levels} levels enters; what reads it is recursive")


async def _asked(key: Key, rng: random.Random) -> None:
    """Let a play ask for a time, and checks answer other events before it."""
    queue = WorkQueue(1, {key.controller: 1})
    seen: list[str] = []

    async def reconcile(_key: Key, trigger: Trigger) -> ReconcileResult:
        seen.append(trigger.reason)
        if trigger.reason == "created":
            return ReconcileResult(_ASKED_SECONDS, requested=True)
        if trigger.reason == "requeue_after":
            return ReconcileResult(None)
        return ReconcileResult(60, is_played=False)

    workers = Workers(queue, {key.controller: reconcile})
    task = asyncio.create_task(workers.run())
    queue.add(key, reason="created")
    until = time.monotonic() + _LATEST_SECONDS
    events = rng.randint(1, 4)
    while "requeue_after" not in seen and time.monotonic() < until:
        await asyncio.sleep(rng.random() * 0.03)
        if events and "created" in seen:
            events -= 1
            queue.add(key, reason="Pod changed")
    task.cancel()
    await workers.drain(1)
    if "requeue_after" not in seen:
        raise Fault(f"a play asked to be played again in {_ASKED_SECONDS} s, and was not: {seen}")


METHOD = Method(NAME, "hostile documents and events reach the runner", points, run, weight=0.5)
