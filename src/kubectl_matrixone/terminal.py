# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal: tables that fit its width, colours where somebody sees them."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Self, TextIO

CLEAR: Final = "\033[H\033[2J"
"""Empties a terminal."""
_NARROWEST: Final = 60
_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_CUT: Final = "…"


class Colour(StrEnum):
    """By its ANSI code."""

    GOOD = "32"
    WARNING = "33"
    BAD = "31"
    HEAD = "1"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Style:
    """How text is written.

    Attributes:
        width: letters of a line; 0 for any number.
        coloured: whether colours are used.
    """

    width: int = 0
    coloured: bool = False

    @classmethod
    def of(cls, stream: TextIO) -> Self:
        """Return the style of a stream: only a terminal has a width, and colours unless NO_COLOR.

        See https://no-color.org.
        """
        if not stream.isatty():
            return cls()
        width = max(_NARROWEST, shutil.get_terminal_size().columns)
        return cls(width, not os.environ.get("NO_COLOR"))

    def paint(self, text: str, colour: Colour) -> str:
        """Return a text in a colour."""
        if not self.coloured or colour is Colour.NONE:
            return text
        return f"\033[{colour.value}m{text}\033[0m"

    def cut(self, text: str) -> str:
        """Return as much of a line as fits."""
        if not self.width or len(text) <= self.width:
            return text
        return text[: self.width - 1] + _CUT


def table(rows: Sequence[Sequence[str]], style: Style, paint_column: int = -1) -> list[str]:
    """Return lines with columns below each other; the first row is their heads.

    Args:
        rows: of equal length; the last column is cut where a line is too long.
        style: of the terminal.
        paint_column: whose words are coloured by their meaning; -1 for none.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = style.cut("  ".join(cells).rstrip())
        if number == 0:
            line = style.paint(line, Colour.HEAD)
        elif 0 <= paint_column < len(row):
            start = sum(widths[:paint_column]) + 2 * paint_column
            line = _painted(line, start, row[paint_column], style)
        lines.append(line)
    return lines


def _painted(line: str, start: int, cell: str, style: Style) -> str:
    """Return a line with the cell that begins at a letter in its colour."""
    shown = line[start : start + len(cell)]
    return line[:start] + style.paint(shown, meaning(cell)) + line[start + len(shown) :]


def meaning(word: str) -> Colour:
    """Return the colour of a phase, a state or a result."""
    word = word.partition(",")[0]
    if word in {"Ready", "True", "Working", "Running", "Passed", "Available", "Bound", "Completed"}:
        return Colour.GOOD
    if word in {"Progressing", "Paused", "Waived", "Pending", "Held", "Updating", "Draining"}:
        return Colour.WARNING
    return Colour.BAD if word not in {"", "Succeeded"} else Colour.NONE


def age(since: datetime | None, now: datetime) -> str:
    """Return how long ago something was, in its two largest units; ``?`` if that is unknown."""
    if since is None:
        return "?"
    left, counts = max(0, int((now - since).total_seconds())), []
    for unit, seconds in _UNITS:
        count, left = divmod(left, seconds)
        counts.append((count, unit))
    first = next((number for number, (count, _unit) in enumerate(counts) if count), 0)
    largest = counts[first : first + 2]
    return "".join(f"{count}{unit}" for count, unit in largest if count) or "0s"
