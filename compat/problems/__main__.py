# SPDX-License-Identifier: Apache-2.0
"""`python -m compat.problems`: what runners do in ten situations, as a table."""

import os
import sys
import tempfile
from pathlib import Path

import click

import testbed
from compat.operators import GO, OURS, RunError
from compat.problems.checks import CHECKS, Check, Seen
from compat.problems.stage import Stage, define
from testbed.bed import TestBed
from testbed.errors import TestBedError
from testbed.interrupts import end_as_by_ctrl_c


@click.command(help=__doc__)
@click.option(
    "--go-runner",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="Program of the Go runner, to compare with.",
)
@click.option("--only", default="", help="Numbers of some problems, as 1,5.")
def main(go_runner: str | None, only: str) -> None:
    """Observe, print."""
    numbers = only.split(",") if only else []
    chosen = [one for one in CHECKS if not numbers or one[0].partition(".")[0] in numbers]
    programs = {OURS: "", **({GO: go_runner} if go_runner else {})}
    name = f"problems-{os.getpid()}"
    try:
        bed = testbed.up(name, nodes="fake", progress=lambda line: click.echo(line, err=True))
        define(bed)
        click.echo(f"| problem | {' | '.join(programs)} |\n|---|{'---|' * len(programs)}")
        for title, check in chosen:
            cells = [_cell(observed(bed, program, check)) for program in programs.values()]
            click.echo(f"| {title} | {' | '.join(cells)} |")
    finally:
        testbed.down(name)


def observed(bed: TestBed, program: str, check: Check) -> Seen:
    """Observe a runner in a namespace of its own."""
    with bed.namespace("problems") as namespace, tempfile.TemporaryDirectory() as folder:
        return check(Stage(bed, program, namespace, Path(folder)))


def _cell(seen: Seen) -> str:
    mark = "" if seen.is_good else "**problem**: "
    return f"{mark}{' '.join(seen.text.split())}".replace("|", "\\|")


if __name__ == "__main__":
    end_as_by_ctrl_c()
    try:
        main(standalone_mode=False)
    except (RunError, TestBedError, click.ClickException) as error:
        sys.exit(f"compat.problems: {error}")
    except (KeyboardInterrupt, click.Abort):
        sys.exit("compat.problems: interrupted")
