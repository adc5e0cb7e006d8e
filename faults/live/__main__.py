# SPDX-License-Identifier: Apache-2.0
"""``python -m faults.live``: make faults in the life of resources under the real operator."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import testbed
from faults import ROOT, report
from faults.live.lives import lives
from faults.live.methods import methods
from faults.points import Fault, Method, Point, chosen
from faults.running import Result
from testbed.bed import TestBed
from testbed.interrupts import end_as_by_ctrl_c

_NAME = "faults"
_OUTPUT = ROOT / "build" / "faults" / "live.json"


def main(arguments: Sequence[str]) -> int:
    """Run the points that are asked for; the exit code is 1 if any of them finds something."""
    options = _options(arguments)
    end_as_by_ctrl_c()
    seed = options.seed if options.seed is not None else secrets.randbelow(10**6)
    began, results = time.monotonic(), []
    with _bed(options.testbed) as bed:
        used = methods(bed)
        points = [Point.read(one) for one in options.point] or _drawn(options, used, seed)
        print(f"{len(points)} points, seed {seed}", flush=True)
        for point in points:
            results.append(_run(point, used))
            _show(results[-1])
            if options.seconds and time.monotonic() - began > options.seconds:
                break
    run = report.Run(seed, time.monotonic() - began, results)
    report.write(run, _OUTPUT)
    print(report.table([one.point for one in results], [one.name for one in used]))
    print(f"{len(results)} points in {run.seconds:.0f} s, {len(run.failed)} found something")
    return 1 if run.failed else 0


@contextmanager
def _bed(name: str) -> Iterator[TestBed]:
    """Give the test bed of a name, which stays, or one for this run."""
    if name:
        yield testbed.up(name, nodes="fake")
        return
    try:
        yield testbed.up(_NAME, nodes="fake")
    finally:
        testbed.down(_NAME)


def _drawn(options: argparse.Namespace, used: Sequence[Method], seed: int) -> list[Point]:
    chosen_methods = [one for one in used if not options.method or one.name in options.method]
    kinds = [kind for kind in lives() if not options.kind or kind in options.kind]
    return chosen(chosen_methods, kinds, options.points, seed)


def _run(point: Point, used: Sequence[Method]) -> Result:
    method = next((one for one in used if one.name == point.method), None)
    if method is None:
        return Result(point, f"there is no method {point.method}", is_own=True)
    try:
        method.run(point)
    except Fault as error:
        return Result(point, str(error))
    except Exception:  # noqa: BLE001 - whatever it is, the other points go on
        return Result(point, traceback.format_exc(limit=-6), is_own=True)
    return Result(point)


def _show(result: Result) -> None:
    print(f"{result.point}: {'ok' if not result.fault else 'found something'}", flush=True)
    for line in result.fault.splitlines():
        print(f"    {line}")
    if result.fault:
        print(f"    repeat it: make faults LIVE=1 POINT='{result.point}'", flush=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults.live", description=__doc__)
    parser.add_argument("--seed", type=int, help="chooses the points; printed if it is drawn")
    parser.add_argument("--points", type=int, default=300, help="how many")
    parser.add_argument("--method", action="append", default=[], help="only this one")
    parser.add_argument("--kind", action="append", default=[], help="only this one")
    parser.add_argument("--point", action="append", default=[], help="run this point alone")
    parser.add_argument("--seconds", type=float, help="begin no point after so many")
    parser.add_argument("--testbed", default="", help="use this one, and leave it running")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
