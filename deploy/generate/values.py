# SPDX-License-Identifier: Apache-2.0
"""The page of the charts' values, out of the comments in values.yaml."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

PAGE = "docs/reference/chart-values.md"
CHARTS = {
    "matrixone-operator": "The operator.",
    "matrixone": "A cluster. Each field of a MatrixOneCluster's spec is a value below `spec`: "
    "[the API reference](api.md#matrixonecluster) has them all.",
}
_INDENT = 2
_HEAD = """\
# Values of the charts

Made by `make rbac` from `charts/*/values.yaml`. [Install with Helm](../install-helm.md) tells which
matter most. A value that is none is refused.
"""


@dataclass
class Value:
    """A value with its description; a mapping with described parts is none itself."""

    path: tuple[str, ...]
    about: str
    parts: list["Value"] = field(default_factory=list)


def files(root: Path) -> dict[str, str]:
    """Return the page by its path."""
    texts = [_HEAD]
    for chart, about in CHARTS.items():
        text = (root / "charts" / chart / "values.yaml").read_text(encoding="utf-8")
        rows = "\n".join(_rows(described(text), yaml.safe_load(text)))
        texts.append(
            f"## {chart}\n\n{about}\n\n| value | default | meaning |\n|---|---|---|\n{rows}\n"
        )
    return {PAGE: "\n".join(texts)}


def described(text: str) -> list[Value]:
    """Return the values of a file in its order, each with the comment above it."""
    top = Value((), "")
    comment: list[str] = []
    open_values = [top]
    for line in text.partition("\n---\n")[2].splitlines():
        content = line.strip()
        if content.startswith("# "):
            comment.append(content[2:].strip())
        elif not content:
            comment = []
        elif not content.startswith("- ") and ":" in content:
            depth = (len(line) - len(line.lstrip())) // _INDENT
            parent = open_values[min(depth, len(open_values) - 1)]
            found = Value((*parent.path, content.partition(":")[0]), " ".join(comment))
            parent.parts.append(found)
            open_values[depth + 1 :] = [found]
            comment = []
    return top.parts


def _rows(values: list[Value], defaults: Any) -> Iterator[str]:
    for value in values:
        default = defaults[value.path[-1]]
        if any(part.about for part in value.parts):
            yield from _rows(value.parts, default)
        elif value.about:
            shown = json.dumps(default, ensure_ascii=False)
            about = value.about.replace("|", "\\|")
            yield f"| `{'.'.join(value.path)}` | `{shown}` | {about} |"
