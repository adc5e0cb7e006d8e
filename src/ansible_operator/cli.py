# SPDX-License-Identifier: Apache-2.0
"""The command line; the commands of authors are in `ansible_operator.authoring`."""

import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from ansible_operator import flags
from ansible_operator.check.checking import check_project, installed_core
from ansible_operator.check.findings import Severity, as_json, as_text
from ansible_operator.errors import ConfigError
from ansible_operator.logs import LEVELS, LogSettings, configure, get_logger
from ansible_operator.manager.process import serve
from ansible_operator.options import Options
from ansible_operator.version import COMMIT, VERSION, runtime, version_line

_LOG = get_logger("cmd")


def _level(value: str) -> int:
    """The lowest level to print: a name, or a number of V-levels, all of which are debug."""
    if value in LEVELS:
        return LEVELS[value]
    if value.isdigit() and int(value) > 0:
        return LEVELS["debug"]
    raise click.BadParameter(f'invalid log level "{value}"', param_hint="--zap-log-level")


_AUTHORING = {"add-kind": "add_kind_command", "crd": "crd", "dev": "dev", "init": "init"}
"""Commands of `ansible_operator.authoring`, which an operator that runs does not load."""


class _Commands(click.Group):
    """All commands; those of authors are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_AUTHORING])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _AUTHORING:
            return super().get_command(ctx, cmd_name)
        commands = import_module("ansible_operator.authoring.commands")
        found: click.Command = getattr(commands, _AUTHORING[cmd_name])
        return found


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run Ansible roles and playbooks as a Kubernetes operator."""


@main.command()
@flags.run
def run(**given: Any) -> None:
    """Run the operator."""
    logging = _logging(given)
    configure(logging)
    options = Options(
        **{name: value for name, value in given.items() if name in Options.__slots__},
        lease_duration=given["leader_elect_lease_duration"],
        renew_deadline=given["leader_elect_renew_deadline"],
    )
    _LOG.info(
        "Version",
        **{
            "Go Version": runtime(),
            "GOOS": platform.system().lower(),
            "GOARCH": platform.machine(),
            "ansible-operator": VERSION,
            "commit": COMMIT,
        },
    )
    sys.exit(serve(options))


def _logging(given: dict[str, Any]) -> LogSettings:
    devel = given["zap_devel"]
    console = (given["zap_encoder"] or ("console" if devel else "json")) == "console"
    level = given["zap_log_level"] or ("debug" if devel else "info")
    return LogSettings(
        level=_level(level),
        encoding="console" if console else "json",
        time=given["zap_time_encoding"],
        stacktrace=LEVELS.get(given["zap_stacktrace_level"] or ""),
    )


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(version_line())


@main.command()
@click.argument(
    "project", type=click.Path(exists=True, file_okay=False, path_type=Path), default="."
)
@click.option("--watches-file", default="watches.yaml", show_default=True, help="In the project.")
@click.option(
    "--ansible-core",
    metavar="RELEASE",
    default=installed_core,
    help="Release that the project is to run under, such as 2.18  [default: the installed one]",
)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(project: Path, watches_file: str, ansible_core: str, output: str) -> None:
    """Say what of a project will not work, or works differently, under this runner.

    The exit code is 0 if nothing is wrong, 1 if something does not work, 2 if there is no project.
    """
    try:
        found = check_project(project, ansible_core, watches_file)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except ValueError as error:
        raise click.BadParameter(ansible_core, param_hint="--ansible-core") from error
    click.echo((as_json if output == "json" else as_text)(found, ansible_core))
    sys.exit(any(item.severity is Severity.ERROR for item in found))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands and flags in a shell."""
    complete = get_completion_class(shell)
    if complete is None:
        raise click.ClickException(f"no completion for {shell}")
    click.echo(complete(main, {}, "ansible-operator", "_ANSIBLE_OPERATOR_COMPLETE").source())


@main.command(name="help")
@click.argument("command", required=False)
@click.pass_context
def help_command(ctx: click.Context, command: str | None) -> None:
    """Explain a command."""
    target = main.get_command(ctx, command) if command else main
    if target is None:
        raise click.UsageError(f"unknown command {command!r}")
    click.echo(target.get_help(click.Context(target, info_name=command, parent=ctx.parent)))
