# SPDX-License-Identifier: Apache-2.0
"""What an operator's processes hold, and whether that grows from cycle to cycle."""

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from bench.cost import memory_mebibytes, tree


@dataclass(frozen=True, slots=True)
class Footprint:
    """What the processes of an operator hold at one moment.

    Attributes:
        main: MiB of memory that are the first process's own.
        all: MiB of all processes, what they share counted once.
        processes: their number.
        descriptors: open files, sockets and pipes of the first process.
        threads: of the first process.
        files: in the run directory.
        temporary: entries of the folder for temporary files.
    """

    main: float
    all: float
    processes: int
    descriptors: int
    threads: int
    files: int
    temporary: int


def take(pid: int, runs: Path, temporary: Path) -> Footprint:
    """Measure the processes of an operator.

    Args:
        pid: of its first process.
        runs: its run directory.
        temporary: its folder for temporary files.
    """
    return Footprint(
        main=_private(pid),
        all=memory_mebibytes(pid),
        processes=len(tree(pid)),
        descriptors=_count(Path(f"/proc/{pid}/fd")),
        threads=_count(Path(f"/proc/{pid}/task")),
        files=sum(1 for path in runs.rglob("*") if path.is_file()),
        temporary=_count(temporary),
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """How one figure has changed from the first third of all cycles to the last."""

    what: str
    first: float
    last: float

    def __str__(self) -> str:
        return f"{self.what}: {self.first:g} -> {self.last:g}"


_ALLOWED = {
    "main": (1.05, 3.0),
    "all": (1.05, 8.0),
    "processes": (1.0, 2.0),
    "descriptors": (1.0, 4.0),
    "threads": (1.0, 2.0),
    "files": (1.0, 0.0),
    "temporary": (1.0, 0.0),
}
"""By which factor and which amount a figure may differ without being a leak."""


def growth(taken: Sequence[Footprint]) -> list[Growth]:
    """What has grown; the first footprint, before which everything was used once, counts, too."""
    third = len(taken) // 3
    assert third, "too few cycles"
    found = []
    for field in fields(Footprint):
        first = statistics.median(getattr(one, field.name) for one in taken[:third])
        last = statistics.median(getattr(one, field.name) for one in taken[-third:])
        factor, amount = _ALLOWED[field.name]
        if last > first * factor + amount:
            found.append(Growth(field.name, first, last))
    return found


def table(taken: Sequence[Footprint]) -> Iterator[str]:
    """The footprints as lines of text."""
    names = [field.name for field in fields(Footprint)]
    yield " ".join(f"{name:>11}" for name in names)
    for one in taken:
        yield " ".join(f"{getattr(one, name):>11.6g}" for name in names)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def _private(pid: int) -> float:
    """MiB that a process shares with no other one."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return (
        sum(
            int(kib)
            for kib in re.findall(r"^Private_(?:Clean|Dirty): +(\d+) kB", text, re.MULTILINE)
        )
        / 1024
    )
