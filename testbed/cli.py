# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m testbed COMMAND``."""

import sys
from collections import deque

import click

from testbed import add_ons, building, lifecycle, toolchain
from testbed.errors import NotFoundError, TestBedError
from testbed.interrupts import end_as_by_ctrl_c
from testbed.processes import resident_mebibytes
from testbed.state import NodeKind

_NAME = click.option("--name", default="default", show_default=True, help="Name of the test bed.")


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
@click.option("--audit", is_flag=True, help="Write an audit log of the API server.")
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
    """Delete a test bed and everything that it created."""
    if not lifecycle.down(name, progress=_say):
        _say(f"no test bed is called {name!r}")


@cli.command()
@_NAME
def status(name: str) -> None:
    """Tell what runs; exit code 1 when something has ended or never came up."""
    found = lifecycle.status(name)
    state = found.state
    click.echo(f"{state.name}: {state.node_count} {state.nodes} nodes, {state.phase}")
    click.echo(f"  API server  {state.server}")
    click.echo(f"  kubeconfig  {lifecycle.get(name).kubeconfig}")
    if state.nodes == "real":
        click.echo(f"  this machine, as pods see it  {state.address}")
    for process in found.running:
        memory = resident_mebibytes(process.pid)
        click.echo(f"  {process.name:<28} pid {process.pid:<8} {memory:>5} MiB")
    for process in found.ended:
        click.echo(f"  {process.name:<28} has ended, see `testbed logs {process.name}`")
    if not found.healthy:
        sys.exit(1)


@cli.command(name="list")
def list_all() -> None:
    """List all test beds."""
    for name in lifecycle.names():
        found = lifecycle.status(name)
        condition = "healthy" if found.healthy else f"{found.state.phase}, not healthy"
        click.echo(f"{name:<24} {found.state.node_count} {found.state.nodes:<5} {condition}")


@cli.command()
@_NAME
def kubeconfig(name: str) -> None:
    """Print the path of the administrator's kubeconfig."""
    click.echo(lifecycle.get(name).kubeconfig)


@cli.command()
@_NAME
def kubectl(name: str) -> None:
    """Print the path of the kubectl that fits."""
    click.echo(lifecycle.get(name).kubectl_path)


@cli.command()
@_NAME
@click.option("--bucket", "buckets", multiple=True, help="Make this bucket unless it is there.")
@click.option("--tls", is_flag=True, help="Serve HTTPS with an authority of its own.")
def s3(name: str, buckets: tuple[str, ...], tls: bool) -> None:
    """Add an S3 server that Pods reach; prints the lines that make AWS' clients use it."""
    store = add_ons.add_object_store(name, buckets, tls=tls, progress=_say)
    for variable, value in store.variables().items():
        click.echo(f"export {variable}={value}")


@cli.command(name="load-image")
@_NAME
@click.argument("image")
def load_image(name: str, image: str) -> None:
    """Give an image (a tar, or `matrixone`) to all real nodes."""
    lifecycle.load_image(image, name, progress=_say)


@cli.command(name="stop-node")
@_NAME
@click.argument("node")
def stop_node(name: str, node: str) -> None:
    """Play the loss of a real node; `up` brings it back."""
    lifecycle.stop_node(node, name)


@cli.command()
@click.option("--nodes", type=click.Choice(["fake", "real"]), default="real", show_default=True)
@click.option("--image", "images", multiple=True, help="Build this image too: matrixone.")
@click.argument("programs", nargs=-1, type=click.Choice(toolchain.programs()), metavar="[PROGRAM]…")
def build(nodes: NodeKind, images: tuple[str, ...], programs: tuple[str, ...]) -> None:
    """Find or build all that `up` needs, or the named programs alone; start nothing."""
    if programs:
        found = {name: str(path) for name, path in building.provide(programs, _say).items()}
    else:
        found = lifecycle.build(nodes, images, progress=_say)
    for program, path in sorted(found.items()):
        click.echo(f"{program:<24} {path}")


@cli.command()
@_NAME
@click.option("--lines", default=50, show_default=True, type=click.IntRange(1, 100_000))
@click.argument("process", required=False)
def logs(name: str, lines: int, process: str | None) -> None:
    """Print the end of a process' log; without a name, list the logs."""
    folder = lifecycle.get(name).places.logs
    if process is None:
        for path in sorted(folder.glob("*.log")):
            click.echo(f"{path.stem:<28} {path}")
        return
    path = folder / f"{process}.log"
    if not path.is_file():
        raise NotFoundError(f"no process of {name!r} is called {process!r}: see `testbed logs`")
    with path.open(errors="replace") as file:
        for line in deque(file, maxlen=lines):
            click.echo(line, nl=False)


def main() -> None:
    """Run the command line; an expected error is one line and exit code 1."""
    # Asked to end, it ends as after Ctrl-C: compilers that it has started go with it.
    end_as_by_ctrl_c()
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted; `up` continues, `down` removes what was created")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted; `up` continues, `down` removes what was created")
        sys.exit(130)
    except TestBedError as error:
        _say(f"testbed: {error}")
        sys.exit(1)
