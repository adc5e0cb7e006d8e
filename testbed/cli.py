# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m testbed COMMAND``."""

import sys

import click

from testbed import lifecycle
from testbed.errors import TestBedError
from testbed.state import NodeKind

_NAME = click.option("--name", default="default", show_default=True, help="Which test bed.")


def _say(line: str) -> None:
    click.echo(line, err=True)


@click.group(help=__doc__)
def cli() -> None:
    """Group the commands."""


@cli.command()
@_NAME
@click.option("--nodes", type=click.Choice(["fake", "real"]), default="fake", show_default=True)
@click.option("--node-count", type=click.IntRange(1, 1000), help="3 fake or 1 real by default.")
@click.option("--image", "images", multiple=True, help="Image for real nodes: matrixone or a tar.")
@click.option("--audit", is_flag=True, help="Let the API server write an audit log.")
def up(
    name: str, nodes: NodeKind, node_count: int | None, images: tuple[str, ...], audit: bool
) -> None:
    """Bring a test bed up; prints the line that makes kubectl use it."""
    bed = lifecycle.up(
        name, nodes=nodes, node_count=node_count, images=images, audit=audit, progress=_say
    )
    click.echo(f"export KUBECONFIG={bed.kubeconfig}")


@cli.command()
@_NAME
def down(name: str) -> None:
    """Remove a test bed and everything it made."""
    if not lifecycle.down(name, progress=_say):
        _say(f"no test bed is called {name!r}")


def main() -> None:
    """Run the command line; an expected error is one line and exit code 1."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted; `down` removes what was begun, `up` goes on")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted; `down` removes what was begun, `up` goes on")
        sys.exit(130)
    except TestBedError as error:
        _say(f"testbed: {error}")
        sys.exit(1)
