# SPDX-License-Identifier: Apache-2.0
"""`python -m compat FOLDER`: how far the operator in a folder plays here."""

import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

import testbed
from compat import report
from compat.collections import CollectionError
from compat.following import Deleted
from compat.operators import RunError
from compat.passes import Pass
from compat.recipes import ProjectError, Recipe, recipe_for
from compat.running import first_pass, prepared
from compat.web_answers import answering
from testbed.errors import TestBedError
from testbed.interrupts import end_as_by_ctrl_c

_BED = f"compat-{os.getpid()}"
"""Of this process alone: others may play at the same time."""
_ERRORS = (CollectionError, Deleted, ProjectError, RunError, TestBedError)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--object",
    "objects",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Manifest of the object to create, instead of that of a recipe.",
)
@click.option(
    "--collections",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with ansible_collections, instead of the archives in the project's vendor/.",
)
@click.option("--go-runner", default="", help="Program of the Go runner, to compare with.")
@click.option("--seconds", default=600.0, show_default=True, help="Longest time of a pass.")
@click.option("--output", type=click.Path(path_type=Path), help="JSON file.")
def main(
    folder: Path,
    objects: tuple[Path, ...],
    collections: Path | None,
    go_runner: str,
    seconds: float,
    output: Path | None,
) -> None:
    """Play, print, write."""
    known = recipe_for(folder, objects)
    passes: list[Pass] = []
    # The same for all runners: operators may write down which proxy they were given.
    with answering(known.pages) as proxied:
        variables = {**known.variables, **proxied}
        recipe = replace(known, collections=collections, variables=variables)
        for program in ["", go_runner] if go_runner else [""]:
            passes.append(_played(folder, recipe, program, seconds))
            if output:  # what there is so far, should another runner fail
                output.parent.mkdir(parents=True, exist_ok=True)
                output.write_text(json.dumps([one.as_json() for one in passes], indent=1) + "\n")
    click.echo(f"\n{folder.resolve().name}: {recipe.obj['kind']}\n\n{report.table(passes)}")
    if len(passes) > 1:
        click.echo(f"\n{report.compared(passes[0], passes[1])}")


def _played(project: Path, recipe: Recipe, program: str, seconds: float) -> Pass:
    """Play in a test bed of its own, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="compat-") as name:
        try:
            bed = testbed.up(_BED, nodes="fake", progress=lambda line: click.echo(line, err=True))
            folder = Path(name)
            return first_pass(bed, prepared(project, folder), recipe, program, folder, seconds)
        finally:
            testbed.down(_BED)


if __name__ == "__main__":
    end_as_by_ctrl_c()
    try:
        main(standalone_mode=False)
    except (*_ERRORS, click.ClickException) as error:
        sys.exit(f"compat: {error}")
    except (KeyboardInterrupt, click.Abort):
        sys.exit("compat: interrupted")
