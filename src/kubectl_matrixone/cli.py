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
        return _carried_out(options)
    except UsageError as error:
        say_error(error)
        return _USAGE
    except PluginError as error:
        say_error(error)
        return FAILED
    except OSError as error:
        return _unwritten(error)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _carried_out(options: argparse.Namespace) -> int:
    code = int(options.command(options, _kubectl(options)))
    sys.stdout.flush()  # what fails to be written when Python ends, nobody can catch
    return code


def _unwritten(error: OSError) -> int:
    """Return the exit code; what is in the buffer would fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0  # whoever reads, as head does, has enough
    say_error(error)
    return FAILED


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
