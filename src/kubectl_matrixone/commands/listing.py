# SPDX-License-Identifier: Apache-2.0
"""Lists of objects of a cluster: as a table, names, JSON or YAML."""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kubectl_matrixone.creating import written
from kubectl_matrixone.terminal import Style


class Record(Protocol):
    """A dataclass that describes one object."""

    @property
    def name(self) -> str:
        """Name of the resource."""


One = TypeVar("One", bound=Record)


def add_output(command: argparse.ArgumentParser) -> None:
    """Add the option that chooses the form."""
    command.add_argument("-o", "--output", choices=("text", "name", "json", "yaml"), default="text")


def print_list(
    found: Sequence[One], form: str, kind: str, lines: Callable[[Sequence[One], Style], list[str]]
) -> None:
    """Print a list.

    Args:
        found: dataclasses.
        form: one of those of :func:`add_output`.
        kind: of the objects, in lower case.
        lines: makes the table.
    """
    if form == "name":
        print("".join(f"{kind}/{one.name}\n" for one in found), end="")
    elif form == "text":
        print("\n".join(lines(found, Style.of(sys.stdout))))
    else:
        plain: Any = [_plain(one) for one in found]
        print(written(plain, form), end="")


def _plain(one: Any) -> Any:
    facts = dataclasses.asdict(one)
    return {name: list(fact) if isinstance(fact, tuple) else fact for name, fact in facts.items()}
