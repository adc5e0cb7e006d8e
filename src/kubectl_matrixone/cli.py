# SPDX-License-Identifier: Apache-2.0
"""The command line."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from .commands import (
    annotating,
    backup,
    backups,
    doctor,
    drain,
    hibernation,
    logs,
    promote,
    render,
    report,
    restore,
    sql,
    status,
    top,
    upgrade,
    users,
    verify,
)
from .commands.options import FAILED
from .errors import PluginError, UsageError, say_error
from .kubectl import Kubectl

_USAGE, _INTERRUPTED = 2, 130
_COMMANDS: Final = (
    status,
    top,
    sql,
    users,
    logs,
    report,
    doctor,
    annotating,
    hibernation,
    drain,
    promote,
    upgrade,
    backup,
    backups,
    verify,
    restore,
    render,
)
"""In the order of the help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    1: it could not be carried out, or what it waited for has failed; 2: the command line makes no
    sense; 3: the cluster is not Ready (``status --exit-code``).
    """
    options = command_line().parse_args(arguments)
    try:
        return int(options.command(options, _kubectl(options)))
    except UsageError as error:
        say_error(error)
        return _USAGE
    except PluginError as error:
        say_error(error)
        return FAILED
    except BrokenPipeError:
        # Whoever reads, as head does, has enough; Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED


def _kubectl(options: argparse.Namespace) -> Kubectl:
    names = ("kubeconfig", "context", "as")
    given = ((name, getattr(options, f"kubectl_{name}")) for name in names)
    return Kubectl(
        tuple(f"--{name}={value}" for name, value in given if value), options.namespace or ""
    )


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``command``, which carries it out."""
    parser = argparse.ArgumentParser(
        prog="kubectl matrixone", description="See and change MatrixOne clusters."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for each in _COMMANDS:
        each.add(commands)
    return parser
