# SPDX-License-Identifier: Apache-2.0
"""Run points side by side, each with a time limit, and tell what came of each."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from types import FrameType

from faults.methods import METHODS
from faults.points import Fault, Point
from faults.simulation.roles import Crash

SECONDS = 120
"""Of the processor that one point may take: on a busy machine it waits for others."""
_BUSIEST = 8
"""Times as long it may take in all."""


class TooLong(BaseException):
    """A point does not end; nothing that it plays may catch this."""


@dataclass(frozen=True)
class Result:
    """What came of a point.

    Attributes:
        point: that was run.
        fault: what does not hold; empty if all does.
        is_own: whether it is the harness that failed, not the product.
    """

    point: Point
    fault: str = ""
    is_own: bool = False


def run_point(point: Point, seconds: int = SECONDS) -> Result:
    """Run one point in this process."""
    method = next((one for one in METHODS if one.name == point.method), None)
    if method is None:
        return Result(point, f"there is no method {point.method}", is_own=True)
    before = {one: signal.signal(one, _late) for one in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(seconds * _BUSIEST)
    try:
        method.run(point)
    except Fault as error:
        return Result(point, str(error))
    except Crash as error:
        return Result(point, f"an error that nobody expected: {error}")
    except TooLong:
        return Result(point, f"does not end within {seconds} s")
    except Exception:  # noqa: BLE001 - whatever it is, the other points go on
        return Result(point, traceback.format_exc(limit=-6), is_own=True)
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for one, handler in before.items():
            signal.signal(one, handler)
    return Result(point)


def _late(_number: int, _frame: FrameType | None) -> None:
    raise TooLong


def run_points(points: Sequence[Point], processes: int) -> Iterator[Result]:
    """Run points, and yield results as they come.

    Args:
        points: to run.
        processes: side by side; with one, they run in this process.
    """
    if processes <= 1 or len(points) < 2:
        yield from map(run_point, points)
        return
    todo = iter(points)
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        running = {pool.submit(run_point, point) for point in islice(todo, processes * 2)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for one in ended:
                yield one.result()
                point = next(todo, None)
                if point is not None:
                    running.add(pool.submit(run_point, point))
