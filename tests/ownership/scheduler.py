# SPDX-License-Identifier: Apache-2.0
"""Run two programs step by step in every order that makes a difference.

A program is a function that does its work on a store. Each request waits until it is its turn. A
program's next request follows from the answers so far; therefore two orders that lead to the same
objects and the same answers have the same future, and one of them is enough.
"""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from .stores import Bucket, MemoryStore

Sleep = Callable[[float], None]
Program = Callable[[MemoryStore, Sleep], str]
"""Returns what became of it."""
LONG = 60.0
"""Seconds of a wait after which no page can arrive that was checked before."""
_SECONDS = 20.0


class Killed(BaseException):
    """The process has ended."""


@dataclass
class Process:
    """A program in a thread that stops before each request."""

    program: Program
    bucket: Bucket
    prefix: str
    page: int = 1000
    kill_after: int | None = None
    trace: list[str] = field(default_factory=list)
    outcome: str | None = None
    pending: str = ""

    def __post_init__(self) -> None:
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._ending = False
        threading.Thread(target=self._run, daemon=True).start()
        assert self._stopped.acquire(timeout=_SECONDS)

    def _run(self) -> None:
        store = MemoryStore(self.bucket, self.prefix, self._before, self.page)
        try:
            self.outcome = self.program(store, lambda seconds: self._before(f"sleep {seconds}"))
        except Killed:
            self.outcome = "killed"
        except Exception as error:  # noqa: BLE001
            self.outcome = f"{type(error).__name__}: {error}"
        self.pending = ""
        self._stopped.release()

    def _before(self, request: str) -> None:
        if self.kill_after is not None and len(self.trace) >= self.kill_after:
            raise Killed
        self.pending = request
        self._stopped.release()
        assert self._go.acquire(timeout=_SECONDS)
        if self._ending:
            raise Killed
        self.trace.append(f"{request} -> {self._answer(request)}")

    def _answer(self, request: str) -> object:
        """Return what a request is going to be answered."""
        verb, _space, key = request.partition(" ")
        root = f"{self.prefix}/"
        if verb in ("read", "size", "create"):
            return self.bucket.objects.get(root + key)
        if verb in ("beginning", "entries", "erasable"):
            return sorted(one for one in self.bucket.objects if one.startswith(root + key))
        return None

    @property
    def has_ended(self) -> bool:
        return self.outcome is not None

    @property
    def is_in_a_long_wait(self) -> bool:
        return self.pending.startswith("sleep ") and float(self.pending.split()[1]) >= LONG

    def step(self) -> None:
        """Let the next request through, and return before the one after it."""
        self._go.release()
        assert self._stopped.acquire(timeout=_SECONDS)

    def end(self) -> None:
        self._ending = True
        if not self.has_ended:
            self.step()


@dataclass
class World:
    """Two processes on one bucket, at some point of an order."""

    bucket: Bucket
    processes: tuple[Process, Process]

    def choices(self) -> list[int]:
        """Return who may do its next request: a page is never late by a long wait."""
        one, other = self.processes
        found = []
        for index, (process, rival) in enumerate(((one, other), (other, one))):
            late = process.is_in_a_long_wait and rival.pending.startswith("erase")
            if not process.has_ended and not late:
                found.append(index)
        return found

    def state(self) -> object:
        return (
            tuple(sorted(self.bucket.objects.items())),
            *((tuple(one.trace), one.pending, one.outcome) for one in self.processes),
        )

    def close(self) -> None:
        for one in self.processes:
            one.end()


def every_end(begin: Callable[[], World], most: int, seed: int) -> Iterator[World]:
    """Yield the world at the end of each order of steps; equal states are gone through once.

    Args:
        begin: makes the world anew; what it and the programs write must not be random.
        most: orders to go through; of more, a random part.
        seed: of the choice.
    """
    chance, seen = random.Random(seed), set[object]()  # noqa: S311
    orders: list[list[int]] = [[]]
    while orders and most > 0:
        most -= 1
        order = orders.pop(chance.randrange(len(orders)))
        world = begin()
        for index in order:
            world.processes[index].step()
        while True:
            state = world.state()
            choices = world.choices()
            if state in seen and choices:
                break
            seen.add(state)
            if not choices:
                assert all(one.has_ended for one in world.processes), "both wait"
                yield world
                break
            orders.extend([*order, other] for other in choices[1:])
            order = [*order, choices[0]]
            world.processes[choices[0]].step()
        world.close()
