# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m charts.generate [--check]``."""

import argparse
import sys
from pathlib import Path

from charts.generate import definitions

ROOT = Path(__file__).resolve().parents[2]


def outputs(root: Path) -> dict[str, str]:
    """Every file that follows from others: path from the repository root, and its text."""
    crds = sorted((root / "crds").glob("*.yaml"))
    return {
        f"{definitions.FOLDER}/{path.name}": definitions.template(path.read_text(encoding="utf-8"))
        for path in crds
    }


def stale(root: Path, files: dict[str, str]) -> list[str]:
    """Paths whose file is missing, differs, or is one that nothing leads to any more."""
    present = (path.relative_to(root).as_posix() for path in (root / definitions.FOLDER).glob("*"))
    left_over = [path for path in present if path not in files]
    differing = [
        path
        for path, text in files.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    return sorted(left_over + differing)


def write(root: Path, files: dict[str, str]) -> None:
    """Bring the files up to date; those that are stay untouched."""
    for path in stale(root, files):
        if path not in files:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(files[path], encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Writes the files, or with ``--check`` lists those that differ and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m charts.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, list what differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="repository root")
    options = parser.parse_args(arguments)
    files = outputs(options.root)
    if not options.check:
        write(options.root, files)
        return 0
    differing = stale(options.root, files)
    for path in differing:
        print(f"{path} does not follow from its source; run make charts", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
