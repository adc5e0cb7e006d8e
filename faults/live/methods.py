# SPDX-License-Identifier: Apache-2.0
"""The faults themselves: stops, disturbed requests and watches, two operators at once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from faults.live import elections
from faults.live.disturbing import HOSTILE, Disturbances, Flavour
from faults.live.lives import CREATE, lives, take
from faults.live.playing import Played, disturbed, undisturbed
from faults.live.proxy import Request
from faults.points import Fault, Method, Point
from testbed.bed import TestBed
from tests.support import hostile

INTERRUPTED, LOSSY, TOGETHER = "live-interrupted", "live-lossy", "live-together"
BESIDE = "live-beside"
HOSTILE_ANSWERS = "live-hostile"
_MOST_WRITES = 60
"""More than an operator makes in most steps; they are counted round and round."""
_SEEDS = 40
_DISTURBED_SECONDS = 12.0
_EXPIRED_SECONDS = 3.0
_RESTART_SECONDS = 60.0
_ALL = "all"


def interrupted_points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield each write of each step, and lives in which each so many writes are the last."""
    for step in lives()[kind].steps:
        for number in range(1, _MOST_WRITES + 1):
            yield Point(INTERRUPTED, kind, f"{step}:{number}")
    for _ in range(_SEEDS):
        yield Point(INTERRUPTED, kind, f"{_ALL}:{rng.randint(2, 9)}")


def interrupt(bed: TestBed, point: Point) -> None:
    """Kill the operator after a write, or in each step after so many, and start it again.

    Raises:
        Fault: the end is not that of an undisturbed life.
    """
    step, _, number = point.place.partition(":")
    steps, wanted = _steps(point.kind, step), undisturbed(point.kind, bed)

    def act(one: Played, name: str) -> None:
        killed = threading.Event()
        last = one.proxy.writes + (int(number) - 1) % max(wanted[name].writes, 1) + 1

        def after_write(writes: int) -> bool:
            if writes < last or killed.is_set():
                return killed.is_set() and not restarted.is_set()
            one.kill()
            killed.set()
            return True

        restarted = threading.Event()
        one.proxy.after_write = after_write
        take(one.life, name, one.api, one.namespace)
        killed.wait(_DISTURBED_SECONDS)
        one.proxy.after_write = None
        restarted.set()
        if killed.is_set():
            one.start()

    disturbed(point.kind, bed, steps, act)


def _steps(kind: str, step: str) -> list[str]:
    known = lives()[kind].steps
    if step not in {*known, _ALL}:
        raise Fault(f"{kind} has no step {step}")
    return known if step == _ALL else [step]


def lossy_points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield some flavours and a seed, for each step or all of them."""
    steps = [*lives()[kind].steps, _ALL, _ALL, _ALL]
    for _ in range(_SEEDS * 2):
        flavours = rng.sample(sorted(set(Flavour) - HOSTILE), rng.randint(1, 4))
        step = rng.choice(steps)
        yield Point(LOSSY, kind, f"{step}:{'+'.join(sorted(flavours))}:{rng.randrange(10**6)}")


def hostile_points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield answers that are none and a seed, for each step or all of them.

    Odd objects are for points by hand: they have the version of the real one, and a client may rely
    on that a version has one content.
    """
    steps = [*lives()[kind].steps, _ALL]
    for _ in range(_SEEDS):
        place = f"{rng.choice(steps)}:{Flavour.GARBLED}:{rng.randrange(10**6)}"
        yield Point(HOSTILE_ANSWERS, kind, place)


def lose(bed: TestBed, point: Point) -> None:
    """Disturb requests and watches for some seconds of a step, then be well again.

    With all steps, the operator is started while it happens, too.

    Raises:
        Fault: the end is not that of an undisturbed life, or it asks and asks meanwhile.
    """
    step, flavours, seed = point.place.split(":")
    disturbances = Disturbances([Flavour(one) for one in flavours.split("+")], int(seed))

    def act(one: Played, name: str) -> None:
        began = time.monotonic()
        one.proxy.disturbances = disturbances
        if step == _ALL and name == one.life.steps[1]:
            one.kill()
            one.start()
        take(one.life, name, one.api, one.namespace)
        time.sleep(_DISTURBED_SECONDS)
        one.require_running(name)
        _require_patience(name, one.proxy.since(began), time.monotonic() - began)
        if HOSTILE & disturbances.flavours:
            # What a client was told last of an object may be wrong, and no event corrects it.
            one.proxy.disturbances = Disturbances([Flavour.EXPIRED], 0, 1.0)
            time.sleep(_EXPIRED_SECONDS)
        one.proxy.disturbances = None

    disturbed(point.kind, bed, _steps(point.kind, step), act)


def most_requests(seconds: float) -> int:
    """Return how often a list or a watch may be begun within a time.

    The first ones follow each other quickly; then there are some seconds between two attempts, and
    each of them may be a list and a watch. A request that is refused is sent up to five times.
    """
    return 24 + round(seconds)


def _require_patience(step: str, requests: list[Request], seconds: float) -> None:
    counts = Counter(f"{one.method} {one.path}" for one in requests if one.method == "WATCH")
    for what, count in counts.most_common(1):
        if count > most_requests(seconds):
            raise Fault(f"{step}: {count} times {what} within {seconds:.0f} s: that is too often")


def together_points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds of elections, for the smallest kind alone: they are the runner's affair."""
    if kind == "Memcached":
        for _ in range(_SEEDS):
            flavours = rng.sample(sorted(elections.FLAVOURS), rng.randint(1, 3))
            place = f"{'+'.join(sorted(flavours))}:{rng.randrange(10**6)}"
            clock = rng.choice(elections.CLOCKS)
            yield Point(TOGETHER, kind, f"{place}:{clock}" if clock else place)


_WITH_OVERLAY = frozenset({"LogSet", "CNSet"})
_OVERLAY_LEVELS = 3
"""Of an object, above what its overlay has in a probe."""


def beside_points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield depths around each limit: of the runner, of Python's recursion, of the API server."""
    if kind in _WITH_OVERLAY:
        for levels in hostile.DEPTHS:
            yield Point(BESIDE, kind, f"deep:{levels}")


def stand_beside(bed: TestBed, point: Point) -> None:
    """Create an object of the same kind that is nested deeply, and start the operator again.

    It stands in a namespace of its own, and what is in it is as deep as the API server takes.

    Raises:
        Fault: the life of the resource is not an undisturbed one.
    """
    levels = int(point.place.partition(":")[2])
    with bed.namespace("f-beside") as other:

        def act(one: Played, name: str) -> None:
            take(one.life, name, one.api, one.namespace)
            deep = {"livenessProbe": hostile.Deep(levels - _OVERLAY_LEVELS)}
            body = {
                **one.life.resource,
                "metadata": {"name": "deep"},
                "spec": {**one.life.resource["spec"], "overlay": deep},
            }
            path, text = one.api.path(one.life.kind, other), hostile.encode(body).decode()
            bed.kubectl("create", "--raw", path, "-f", "-", input=text)
            one.kill()
            one.start()

        disturbed(point.kind, bed, [CREATE], act, other)


def methods(bed: TestBed) -> tuple[Method, ...]:
    """Return the methods, on a Kubernetes."""
    return (
        Method(
            INTERRUPTED,
            "the operator's process is killed after a write, and started again",
            interrupted_points,
            partial(interrupt, bed),
        ),
        Method(
            LOSSY,
            "requests and watches of the process are disturbed",
            lossy_points,
            partial(lose, bed),
        ),
        Method(
            HOSTILE_ANSWERS,
            "answers that the process gets are none, or have odd parts",
            hostile_points,
            partial(lose, bed),
        ),
        Method(
            TOGETHER,
            "two processes elect a leader over disturbed connections",
            together_points,
            partial(elections.elect, bed),
        ),
        Method(
            BESIDE,
            "an object that is nested deeply stands beside the resource",
            beside_points,
            partial(stand_beside, bed),
        ),
    )
