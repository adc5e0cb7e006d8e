# SPDX-License-Identifier: Apache-2.0
"""The commands for authors: ``init``, ``add-kind``, ``crd``, ``dev``."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from ansible_operator.authoring import writing
from ansible_operator.authoring.creating import Source, add_kind, create_project
from ansible_operator.authoring.developing import Development
from ansible_operator.authoring.names import kind_names
from ansible_operator.authoring.refreshing import Skipped, definitions
from ansible_operator.errors import ConfigError

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _kind(function: _Command) -> _Command:
    """The options that describe a kind."""
    for option in reversed(
        (
            click.option("--group", required=True, help="API group, such as cache.example.com."),
            click.option("--version", required=True, help="API version, such as v1alpha1."),
            click.option("--kind", required=True, help="Name of the kind, such as Memcached."),
            click.option("--plural", default="", help="Its plural  [default: as in English]"),
            click.option(
                "--from-role",
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                metavar="FOLDER",
                help="A role with argument specs, which is copied  [default: a new role]",
            ),
        )
    ):
        function = option(function)
    return function


@click.command()
@click.argument("folder", type=_FOLDER, default=".")
@_kind
@click.option("--name", default="", help="Name of the project  [default: that of the folder]")
def init(
    folder: Path,
    group: str,
    version: str,
    kind: str,
    plural: str,
    from_role: Path | None,
    name: str,
) -> None:
    """Create the project of an operator in a new or empty FOLDER.

    It has a CRD that follows from the argument specs of its role, the role, the rights that it
    requires, a Deployment, a sample, a test, a Dockerfile and a Makefile.
    """
    try:
        names = kind_names(group, version, kind, plural)
        made = create_project(folder, name, names, from_role)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"Created the project {folder.resolve().name}. Next:")
    if folder != Path():
        click.echo(f"  cd {folder}")
    click.echo("  make install run       # the operator on this machine, in your cluster")
    click.echo(f"  kubectl apply -f {names.sample_file}")
    _tell(made)


@click.command(name="add-kind")
@_kind
@click.option("--project", type=_FOLDER, default=".", help="Folder of the project  [default: .]")
def add_kind_command(
    group: str, version: str, kind: str, plural: str, from_role: Path | None, project: Path
) -> None:
    """Add a kind to a project: its CRD, role, rights and sample.

    Existing files stay, but for one more item in watches.yaml and in two kustomizations.
    """
    try:
        names = kind_names(group, version, kind, plural)
        made = add_kind(project, names, from_role)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"Added {names.kind}. Next:")
    click.echo("  make install run       # its CRD, and the operator with it")
    click.echo(f"  kubectl apply -f {names.sample_file}")
    _tell(made)


def _tell(made: Source) -> None:
    """What the author has to look at."""
    if not made.kind.rules:
        click.echo(
            f"The files of the role {made.kind.role} name no objects: add the rights that it "
            "requires to config/rbac."
        )


@click.command()
@click.argument("project", type=_FOLDER, default=".")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a CRD is out of date.")
def crd(project: Path, *, check: bool) -> None:
    """Make the CRDs of a PROJECT follow the argument specs of its roles.

    Only the schema of spec in config/crd changes; all else in these files is the author's.
    """
    try:
        found = list(definitions(project))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    is_old = False
    for one in found:
        if isinstance(one, Skipped):
            click.echo(f"{one.kind}: left alone, {one.reason}")
            continue
        name = one.path.relative_to(project) if one.path.is_relative_to(project) else one.path
        if one.old == one.new:
            click.echo(f"{name}: up to date")
            continue
        is_old = True
        if check:
            click.echo(f"{name}: out of date; run ansible-operator crd")
        elif one.old is None:
            writing.create(one.path.parent, {one.path.name: one.new})
            click.echo(f"{name}: created; list it in config/crd/kustomization.yaml")
        else:
            writing.change(one.path, one.new)
            click.echo(f"{name}: updated")
    sys.exit(check and is_old)


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--project", type=_FOLDER, default=".", help="Folder of the project  [default: .]")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def dev(project: Path, flags: tuple[str, ...]) -> None:
    """Run the operator of a project while you change it.

    It is started again after each change of a file, with the CRDs up to date in the cluster, and
    each run shows what its tasks have changed. FLAGS are those of `ansible-operator run`.
    """
    if not (project / "watches.yaml").is_file():
        raise click.UsageError(
            f"{project} has no watches.yaml; go to the folder of the project, or name it with "
            "--project"
        )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        Development(project.resolve(), flags, click.echo).run()
    except KeyboardInterrupt:
        click.echo("stopped")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
