# SPDX-License-Identifier: Apache-2.0
"""Options and arguments that commands share, under the names that kubectl gives them."""

import argparse
import re
from collections.abc import Callable
from typing import Any, Final

from kubectl_matrixone.creating import Creating, DryRun
from kubectl_matrixone.kubectl import Kubectl

FAILED, NOT_READY = 1, 3
"""Exit codes, beside 0 and those of ``cli``."""

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION: Final = re.compile(r"(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?")

Command = Callable[[argparse.Namespace, Kubectl], int]
Commands = Any
"""What argparse adds commands to; its type is private."""


def add_command(commands: Commands, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    """Add a command with the options that all have.

    Args:
        commands: to which it is added.
        name: of the command.
        text: what it does, in a line.
        run: carries it out and returns the exit code.
    """
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(command=run)
    command.add_argument("-n", "--namespace", help="of the cluster")
    for option in ("kubeconfig", "context", "as"):
        command.add_argument(
            f"--{option}", dest=f"kubectl_{option}", metavar="VALUE", help="as of kubectl"
        )
    return command


def add_about_cluster(
    commands: Commands, name: str, text: str, run: Command
) -> argparse.ArgumentParser:
    """Add a command about a cluster, whose name may be left out."""
    command = add_command(commands, name, text, run)
    command.add_argument(
        "cluster", nargs="?", default="", metavar="CLUSTER", help="if there are several"
    )
    return command


def add_waiting(command: argparse.ArgumentParser, what: str, timeout: str) -> None:
    """Add the options of a command that may wait for what it has begun.

    Args:
        command: to which they are added.
        what: it waits for.
        timeout: the default, as a duration.
    """
    command.add_argument("--wait", action="store_true", help=f"for {what}")
    add_timeout(command, timeout)


def add_timeout(command: argparse.ArgumentParser, default: str) -> None:
    """Add the time after which a command stops waiting."""
    command.add_argument(
        "--timeout",
        type=seconds,
        default=seconds(default),
        metavar="DURATION",
        help=f"how long to wait, such as 90s, 10m and 1h30m; 0 is without end ({default})",
    )


def add_creating(command: argparse.ArgumentParser) -> None:
    """Add the options of a command that creates something."""
    command.add_argument(
        "--dry-run",
        nargs="?",
        type=DryRun,
        choices=list(DryRun),
        const=DryRun.CLIENT,
        default=DryRun.NONE,
        metavar="none|client|server",
        help="create nothing; client prints the manifest, server has the API server check it",
    )
    command.add_argument(
        "-o", "--output", choices=("yaml", "json"), help="print the manifest, and create nothing"
    )


def creating_of(options: argparse.Namespace) -> Creating:
    """Return what those options mean."""
    return Creating(options.dry_run, options.output or "")


def seconds(text: str) -> float:
    """Return a duration, written as kubectl has it.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if text.isascii() and text.isdigit():
        return float(text)
    if not text or not _DURATION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration such as 90s, 10m or 1h30m")
    found = re.findall(r"([0-9]+)([hms])", text)
    return sum(float(count) * _UNITS[unit] for count, unit in found)
