# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m crds.generate [--check]``."""

import argparse
import sys
from pathlib import Path

from crds.generate import argument_specs, chart_values, definition, reference, role_readme
from crds.generate.sources import SchemaError, Sources

ROOT = Path(__file__).resolve().parents[2]


def outputs(schema: Path) -> dict[str, str]:
    """Every file that follows from the sources: path from the repository root, and its text."""
    kinds = Sources(schema).kinds()
    files = {f"crds/{definition.file_name(kind)}": definition.text(kind) for kind in kinds}
    if any(kind.name == chart_values.CLUSTER for kind in kinds):
        files[chart_values.FILE] = chart_values.text(kinds)
    files |= {
        f"roles/{kind.role}/meta/argument_specs.yml": argument_specs.text(kind) for kind in kinds
    }
    files |= {f"roles/{kind.role}/README.md": role_readme.text(kind) for kind in kinds}
    files["docs/reference/api.md"] = reference.text(kinds)
    return files


def stale(root: Path, files: dict[str, str]) -> list[str]:
    """Paths whose file is missing, differs, or is a definition that no source makes."""
    differing = [
        path
        for path, text in files.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    return sorted(differing + left_over(root, files))


def left_over(root: Path, files: dict[str, str]) -> list[str]:
    """Definitions that no source makes any more."""
    present = (path.relative_to(root).as_posix() for path in (root / "crds").glob("*.yaml"))
    return sorted(path for path in present if path not in files)


def write(root: Path, files: dict[str, str]) -> None:
    """Brings the files up to date; those that are stay untouched."""
    for path in stale(root, files):
        if path not in files:
            (root / path).unlink()
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(files[path], encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Writes the files, or with ``--check`` lists those that differ and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m crds.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, list what differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="repository root")
    options = parser.parse_args(arguments)
    try:
        files = outputs(options.root / "crds" / "schema")
    except SchemaError as error:
        print(f"crds: {error}", file=sys.stderr)
        return 2
    if not options.check:
        write(options.root, files)
        return 0
    differing = stale(options.root, files)
    for path in differing:
        print(f"{path} does not follow from crds/schema/; run make crds", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
