# SPDX-License-Identifier: Apache-2.0
"""What was typed and what came of it, as a file below ``build/transcripts``."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.places import ROOT

FOLDER = ROOT / "build" / "transcripts"
_MOST_LINES = 30
_PLACES = re.compile(r"^/\S*/(?=[\w.-]+$)")


@dataclass
class Transcript:
    """A record of commands; a new one replaces that of an earlier run.

    Attributes:
        name: of the file, without its ending.
    """

    name: str
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.path = FOLDER / f"{self.name}.txt"
        self.path.write_text("")

    def __call__(self, command: Sequence[str | Path], output: str, seconds: float) -> None:
        """Record a command, without the folders that only this machine has."""
        words = [_PLACES.sub("", str(word).removeprefix(f"{ROOT}/")) for word in command]
        typed = " ".join(f"'{word}'" if re.search(r"[ {}*]", word) else word for word in words)
        lines = output.rstrip().splitlines()
        left = len(lines) - _MOST_LINES
        shown = [*lines[:_MOST_LINES], *([f"… {left} more lines"] if left > 0 else [])]
        self._write("\n".join([f"$ {typed}", *shown, f"# {seconds:.1f} s", ""]))

    def note(self, text: str) -> None:
        """Record what was seen besides."""
        sys.stdout.write(f"\n{text}\n")
        self._write(f"# {text}\n")

    def _write(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text + "\n")
