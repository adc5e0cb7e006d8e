# SPDX-License-Identifier: Apache-2.0
"""What the shell completes after ``kubectl matrixone``.

kubectl asks the program ``kubectl_complete-matrixone`` with the words so far, the last of which may
be unfinished, and expects candidates and a directive of cobra
(https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/).
"""

import argparse
import contextlib
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from .cli import command_line
from .errors import PluginError
from .kubectl import Kubectl
from .reading import BACKUPS, CLUSTER, COMPONENT, resource_of

_NO_FILES: Final = ":4"
"""Nothing else, and no names of files, may follow."""
_NAMED: Final = {
    "backup": (BACKUPS,),
    "base": (BACKUPS,),
    "claim": (resource_of("CNClaim"),),
    "cluster": (CLUSTER,),
    "like": (CLUSTER,),
    "schedule": (resource_of("BackupSchedule"),),
    "pod": ("pods", f"--selector={COMPONENT}=CNSet"),
}
"""What the names of a position, or the value of an option, are those of."""


def main() -> None:
    """Print the candidates for the last word."""
    words = sys.argv[1:] or [""]
    for candidate in candidates(words):
        print(candidate)
    print(_NO_FILES)


def candidates(words: Sequence[str]) -> Iterator[str]:
    """Yield what the last word may become.

    Args:
        words: after ``kubectl matrixone``, one at least.
    """
    commands = _commands(command_line())
    *before, last = words
    if not before:
        yield from (name for name in commands if name.startswith(last))
        return
    command = commands.get(before[0])
    if command is None:
        return
    if value := _option_before(command, before):
        yield from _values(value, before, last)
        return
    if last.startswith("-"):
        options = (option for action in command._actions for option in action.option_strings)  # noqa: SLF001
        yield from (option for option in options if option.startswith(last))
        return
    for action in command._actions:  # noqa: SLF001
        if not action.option_strings and action.dest in _NAMED:
            yield from _names(before, last, _NAMED[action.dest])


def _option_before(
    command: argparse.ArgumentParser, before: Sequence[str]
) -> argparse.Action | None:
    """Return the option whose value the last word is; None if it is another word."""
    for action in command._actions:  # noqa: SLF001
        if before[-1] in action.option_strings and action.nargs is None:
            return action
    return None


def _values(option: argparse.Action, before: Sequence[str], last: str) -> Iterator[str]:
    yield from (str(one) for one in option.choices or () if str(one).startswith(last))
    if option.dest in _NAMED:
        yield from _names(before, last, _NAMED[option.dest])


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            return dict(action.choices)
    return {}


def _names(before: Sequence[str], last: str, kind: Sequence[str]) -> Iterator[str]:
    """Yield the names of objects; none where they cannot be read."""
    namespace = ""
    for option, value in itertools.pairwise(before):
        if option in {"-n", "--namespace"}:
            namespace = value
    found = ""
    with contextlib.suppress(PluginError):
        found = Kubectl(namespace=namespace).run("get", *kind, "--output=name")
    for line in found.split():
        name = line.rpartition("/")[2]
        if name.startswith(last):
            yield name
