# SPDX-License-Identifier: Apache-2.0
"""`python -m bench`: run scenarios against every peer of this machine, side by side."""

import json
import os
import platform
import sys
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import click

from bench import clusters, report
from bench.measuring import Load
from bench.peers import WORKERS, Peer, PeerError, peers
from bench.scenarios import SCENARIOS, Scenario
from testbed import TestBedError
from testbed.interrupts import end_as_by_ctrl_c

_SLOW_SIZE = 50


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _chosen(text: str, known: Collection[str], usual: list[str], what: str) -> list[str]:
    words = _words(text) or usual
    for word in words:
        if word not in known:
            raise click.UsageError(f"{word!r} is no {what}: choose from {', '.join(known)}")
    return words


@click.command(help=__doc__)
@click.option("--scenarios", default="", help=f"Some of: {', '.join(SCENARIOS)}.")
@click.option("--sizes", default="", help="Numbers of objects, instead of those of the scenarios.")
@click.option("--peers", "names", default="", help="Some of the peers.")
@click.option("--seconds", default=300.0, show_default=True, help="Longest time of a step.")
@click.option("--slow-too", is_flag=True, help=f"Give slow peers more than {_SLOW_SIZE} objects.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file [build/bench/…].")
def main(
    scenarios: str, sizes: str, names: str, seconds: float, slow_too: bool, output: Path | None
) -> None:
    """Measure, print, write."""
    known = {peer.name: peer for peer in peers()}
    taking_part = _available([known[name] for name in _chosen(names, known, list(known), "peer")])
    results: list[report.Result] = []
    output = output or Path("build/bench") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    usual = [name for name, scenario in SCENARIOS.items() if not scenario.is_long]
    for name in _chosen(scenarios, SCENARIOS, usual, "scenario"):
        scenario = SCENARIOS[name]
        for size in _sizes(scenario, sizes):
            for peer in filter(scenario.suits, taking_part):
                if size > _SLOW_SIZE and peer.is_slow and not slow_too:
                    click.echo(f"{name} {size} {peer.name}: left out, it is slow (--slow-too)")
                    continue
                results.append(_measure(name, scenario, peer, Load(size, seconds)))
                _write(output, results)
    click.echo(f"\n{report.table(results)}\n")
    click.echo("how many times as much\n" + report.ratio_lines(report.ratios(results)))
    click.echo(f"\n{output}")
    if any(row["problem"] for row in results):
        sys.exit(1)


def _sizes(scenario: Scenario, text: str) -> list[int]:
    # A single object stays one whatever the sizes of the other scenarios are.
    if scenario.sizes == (1,) or not text:
        return list(scenario.sizes)
    return [int(word) for word in _words(text)]


def _available(wanted: list[Peer]) -> list[Peer]:
    found = []
    for peer in wanted:
        reason = peer.missing()
        click.echo(f"{peer.name}: {reason or peer.about}")
        if not reason:
            found.append(peer)
    return found


def _measure(name: str, scenario: Scenario, peer: Peer, load: Load) -> report.Result:
    begin, problem = time.monotonic(), ""
    try:
        with clusters.fresh(f"bench-{os.getpid()}") as cluster:
            measures = scenario.measure(peer, cluster, load)
    except PeerError as error:
        measures, problem = {}, str(error)
    if "finished" in measures:
        problem = f"only {measures['finished']:.0f} of {load.size} in {load.seconds:.0f} s"
    took = time.monotonic() - begin
    click.echo(f"{name} {load.size} {peer.name}: measured in {took:.0f} s {problem}")
    return {
        "scenario": name,
        "size": load.size,
        "peer": peer.name,
        "measures": measures,
        "problem": problem,
    }


def _write(output: Path, results: list[report.Result]) -> None:
    """Write what there is so far: an interrupted benchmark has told something, too."""
    output.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpus": len(os.sched_getaffinity(0)),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
        },
        "workers": WORKERS,
        "results": results,
        "ratios": report.ratios(results),
    }
    output.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    end_as_by_ctrl_c()
    try:
        main()
    except TestBedError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(1)
