# SPDX-License-Identifier: Apache-2.0
"""``python -m faults``: make faults, and tell which of them the product does not bear."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from faults import ROOT, report
from faults.methods import METHODS
from faults.points import Point, chosen
from faults.running import Result, run_points
from faults.scenes import scenes

_SECONDS_BETWEEN = 30.0


def main(arguments: Sequence[str]) -> int:
    """Run the points that are asked for; the exit code is 1 if any of them finds something."""
    options = _options(arguments)
    if options.list:
        for method in METHODS:
            print(f"{method.name:12} {method.summary}")
        return 0
    seed = options.seed if options.seed is not None else secrets.randbelow(10**6)
    points = [Point.read(one) for one in options.point] or _drawn(options, seed)
    if not options.point:
        print(f"{len(points)} points, seed {seed}", flush=True)
    began = time.monotonic()
    results: list[Result] = []
    shown = began
    for result in run_points(points, options.processes):
        results.append(result)
        if result.fault:
            _show(result)
        if time.monotonic() - shown > _SECONDS_BETWEEN:
            shown = time.monotonic()
            print(f"  {len(results)} of {len(points)} points", flush=True)
        if options.seconds and time.monotonic() - began > options.seconds:
            print(f"ended after {options.seconds:g} s: {len(results)} of {len(points)} points")
            break
    run = report.Run(seed, time.monotonic() - began, results)
    report.write(run, options.output)
    print(report.table([one.point for one in results], [one.name for one in METHODS]))
    print(f"{len(results)} points in {run.seconds:.0f} s, {len(run.failed)} found something")
    return 1 if run.failed else 0


def _drawn(options: argparse.Namespace, seed: int) -> list[Point]:
    methods = [one for one in METHODS if not options.method or one.name in options.method]
    kinds = [kind for kind in scenes() if not options.kind or kind in options.kind]
    return chosen(methods, kinds, options.points, seed)


def _show(result: Result) -> None:
    print(f"{result.point}{' (the harness itself)' if result.is_own else ''}")
    for line in result.fault.splitlines():
        print(f"    {line}")
    print(f"    repeat it: {report.repeat(result.point)}", flush=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--seed", type=int, help="chooses the points; printed if it is drawn")
    parser.add_argument("--points", type=int, default=10_000, help="how many")
    parser.add_argument(
        "--method", action="append", default=[], help="only this one; again for more"
    )
    parser.add_argument("--kind", action="append", default=[], help="only this one; again for more")
    parser.add_argument("--point", action="append", default=[], help="run this point alone")
    parser.add_argument("--seconds", type=float, help="begin no point after so many")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "faults" / "faults.json")
    parser.add_argument("--list", action="store_true", help="list the methods")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
