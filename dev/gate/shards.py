# SPDX-License-Identifier: Apache-2.0
"""What `make test-all` has beyond the gate, in parts that machines or nights take one each."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from dataclasses import dataclass

from dev.gate.stages import BINARIES, Stage, When


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts.

    Attributes:
        number: which one, from 1.
        count: of all parts.
    """

    number: int
    count: int

    def __str__(self) -> str:
        """Return it as the command line takes it."""
        return f"{self.number}/{self.count}"


def parse_shard(text: str) -> Shard:
    """Read a shard such as ``2/6``.

    Raises:
        argparse.ArgumentTypeError: the text names no shard.
    """
    match = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", text)
    found = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= found.number <= found.count:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no shard: give its number and how many there are, such as 2/6 for the"
            " second of six"
        )
    return found


def in_shards(stages: Iterable[Stage], count: int) -> list[list[Stage]]:
    """Divide what the gate does not always run, so that shards usually take the same time.

    Each stage goes to the shard that is shortest until then, the longest stage first. What this
    machine can run does not count: all machines divide alike.

    Args:
        stages: all stages.
        count: of shards.

    Returns:
        The stages of each shard, in the order in which they are given.
    """
    given = [stage for stage in stages if stage.when is not When.ALWAYS and stage.name != BINARIES]
    filled = [0] * count
    number_of = {}
    for stage in sorted(given, key=lambda one: (-one.usual, one.name)):
        number = filled.index(min(filled))
        number_of[stage.name] = number
        filled[number] += stage.usual
    return [
        [stage for stage in given if number_of[stage.name] == number] for number in range(count)
    ]
