# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m image build|push|archive|requirements``."""

import subprocess
import sys
from pathlib import Path

import click

from image import operator, pinning
from image.building import DEBOOTSTRAP, ROOT, Build, build, buildah, found_builder, run, storage
from testbed.errors import TestBedError

_builder = click.option("--builder", default="", help="docker, podman or buildah; default: found")
_platforms = click.option("--platforms", default="", help="e.g. linux/amd64,linux/arm64")
_base = click.option("--base", default="", help=f"base image, or {DEBOOTSTRAP}")


def _wanted(image: str, platforms: str, base: str) -> Build:
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    arguments = {"REVISION": revision or "unknown"}
    if base:
        arguments["BASE_IMAGE"] = base
    return Build(image, arguments=arguments, platforms=platforms)


@click.group()
def main() -> None:
    """Builds and pushes the operator's image."""


@main.command("build")
@click.argument("name")
@_builder
@_platforms
@_base
def build_image(name: str, builder: str, platforms: str, base: str) -> None:
    """Builds the image NAME."""
    with storage():
        build(_wanted(name, platforms, base), builder or found_builder(), click.echo)
    click.echo(f"built {name}")


@main.command("push")
@click.argument("name")
@_builder
@_platforms
@_base
@click.option("--to", default="", help="where to, if not to the registry in the name")
def push_image(name: str, builder: str, platforms: str, base: str, to: str) -> None:
    """Pushes the image NAME to the registry that the name says."""
    builder = builder or found_builder()
    if builder == "buildah":
        buildah("push", name, to or f"docker://{name}")
    elif platforms:
        # Images of several platforms can only be built into a registry.
        run([builder, "buildx", "build", "--push", *_wanted(name, platforms, base).flags()])
    else:
        run([builder, "push", name])
    click.echo(f"pushed {to or name}")


@main.command("archive")
def write_archive() -> None:
    """Builds the image for test beds and prints the path of its archive."""
    click.echo(operator.operator_archive(lambda line: click.echo(line, err=True)))


@main.command("requirements")
def requirements() -> None:
    """Updates the pinned Python packages of the image, from dev/constraints.txt."""
    pinning.write(Path(sys.executable).parent / "uv")


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (TestBedError, click.ClickException) as error:
        sys.exit(f"image: {error}")
