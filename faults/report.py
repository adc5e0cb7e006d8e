# SPDX-License-Identifier: Apache-2.0
"""What a run came to: a table for people, a file for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.points import Point
from faults.running import Result


@dataclass(frozen=True)
class Run:
    """All results of a run.

    Attributes:
        seed: that the points were chosen by.
        seconds: that it took.
        results: of all points.
    """

    seed: int
    seconds: float
    results: Sequence[Result]

    @property
    def failed(self) -> list[Result]:
        """The results of points that found something."""
        return [one for one in self.results if one.fault]


def repeat(point: Point) -> str:
    """Return the shortest way to repeat a point."""
    return f"make faults POINT='{point}'"


def table(points: Iterable[Point], methods: Sequence[str]) -> str:
    """Return how many points there were by kind and method."""
    counts = Counter((one.kind, one.method) for one in points)
    kinds = sorted({kind for kind, _method in counts})

    def row(title: str, of: Sequence[str]) -> list[str]:
        numbers = [sum(counts[kind, method] for kind in of) for method in methods]
        return [title, *map(str, numbers), str(sum(numbers))]

    rows = [["kind", *methods, "all"], *(row(kind, [kind]) for kind in kinds), row("all", kinds)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def write(run: Run, file: Path) -> None:
    """Write a run as JSON."""
    counts = Counter((one.point.kind, one.point.method) for one in run.results)
    content = {
        "seed": run.seed,
        "seconds": round(run.seconds, 1),
        "points": len(run.results),
        "counts": [
            {"kind": kind, "method": method, "points": count}
            for (kind, method), count in sorted(counts.items())
        ],
        "failed": [
            {**asdict(one), "point": str(one.point), "repeat": repeat(one.point)}
            for one in run.failed
        ],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
