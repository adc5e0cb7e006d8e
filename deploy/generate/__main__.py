# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m deploy.generate [--check]``."""

import argparse
import sys
from pathlib import Path

from deploy.generate import overlays, values
from deploy.generate.rights import RightsError, read
from deploy.generate.roles import files

ROOT = Path(__file__).resolve().parents[2]


def stale(root: Path, texts: dict[str, str]) -> list[str]:
    """Paths whose file is missing or differs."""
    return sorted(
        path
        for path, text in texts.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    )


def main(arguments: list[str] | None = None) -> int:
    """Writes the files, or with ``--check`` lists those that differ and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m deploy.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, list what differs")
    parser.add_argument("--root", type=Path, default=ROOT, help="repository root")
    options = parser.parse_args(arguments)
    try:
        texts = files(read(options.root / "deploy" / "rights.yaml"))
        texts |= overlays.files(options.root, texts)
        texts |= values.files(options.root)
    except (RightsError, overlays.OverlayError) as error:
        print(f"rbac: {error}", file=sys.stderr)
        return 2
    differing = stale(options.root, texts)
    for path in differing:
        if options.check:
            print(f"{path} is not what make rbac makes; run it", file=sys.stderr)
        else:
            (options.root / path).parent.mkdir(parents=True, exist_ok=True)
            (options.root / path).write_text(texts[path], encoding="utf-8")
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
