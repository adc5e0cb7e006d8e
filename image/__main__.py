# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m image build|push|archive|requirements``."""

import subprocess
import sys
from pathlib import Path

import click

from image import operator, pinning
from image.building import (
    DEBOOTSTRAP,
    ROOT,
    Build,
    ImageError,
    build,
    buildah,
    found_builder,
    run,
    storage,
)
from testbed.errors import TestBedError

_builder = click.option("--builder", default="", help="docker, podman or buildah; default: found")
_platforms = click.option("--platforms", default="", help="e.g. linux/amd64,linux/arm64")
_core = click.option("--ansible-core", "core", default="", help=f"{', '.join(pinning.CORES)}")
_base = click.option("--base", default="", help=f"base image, or {DEBOOTSTRAP}")


def named(image: str, core: str) -> str:
    """Return the name of an image's variant with a newer ansible-core.

    Raises:
        ImageError: there is no such variant.
    """
    if not core:
        return image
    if core not in pinning.CORES:
        known = ", ".join(pinning.CORES)
        raise ImageError(f"no image has ansible-core {core}; variants: {known}")
    return f"{image}-ansible-core-{core}"


def _wanted(image: str, platforms: str, base: str, core: str) -> Build:
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    arguments = {"REVISION": revision or "unknown"}
    if base:
        arguments["BASE_IMAGE"] = base
    if core:
        arguments["ANSIBLE_CORE"] = core
    return Build(named(image, core), arguments=arguments, platforms=platforms)


@click.group()
def main() -> None:
    """Builds and pushes the operator's image."""


@main.command("build")
@click.argument("name")
@_builder
@_platforms
@_base
@_core
def build_image(name: str, builder: str, platforms: str, base: str, core: str) -> None:
    """Builds the image NAME, or its variant with another ansible-core."""
    wanted = _wanted(name, platforms, base, core)
    with storage():
        build(wanted, builder or found_builder(), click.echo)
    click.echo(f"built {wanted.image}")


@main.command("push")
@click.argument("name")
@_builder
@_platforms
@_base
@_core
@click.option("--to", default="", help="where to, if not to the registry in the name")
def push_image(name: str, builder: str, platforms: str, base: str, core: str, to: str) -> None:
    """Pushes the image NAME to the registry that the name says."""
    wanted = _wanted(name, platforms, base, core)
    builder = builder or found_builder()
    if builder == "buildah":
        buildah("push", wanted.image, to or f"docker://{wanted.image}")
    elif platforms:
        # Images of several platforms can only be built into a registry.
        run([builder, "buildx", "build", "--push", *wanted.flags()])
    else:
        run([builder, "push", wanted.image])
    click.echo(f"pushed {to or wanted.image}")


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
