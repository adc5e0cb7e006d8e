# SPDX-License-Identifier: Apache-2.0
"""The API reference: one page of Markdown with a table per kind."""

import json
from collections.abc import Iterator
from typing import Any

from crds.generate.sources import GROUP, VERSION, Json, Kind

HEADER = """\
<!-- Made by `make crds` from crds/schema/; do not edit. -->
# API reference

All kinds are namespaced and belong to the API version `{version}`, unless the table says
otherwise. `kubectl get matrixone -A` lists the objects of all of them; `kubectl explain
<kind>.<field>` shows the same descriptions as this page. Fields that occur in several places are
listed at the first one.

| kind | short name | plural |
|---|---|---|
{kinds}
"""


def text(kinds: list[Kind]) -> str:
    """The page, the same bytes for the same kinds."""
    rows = "\n".join(_listed(kind) for kind in kinds)
    listed: dict[str, str] = {}
    header = HEADER.format(version=f"{GROUP}/{VERSION}", kinds=rows)
    return "\n".join([header, *(_section(kind, listed) for kind in kinds)])


def _listed(kind: Kind) -> str:
    """Row of the table of kinds."""
    short = f"`{', '.join(kind.short_names)}`" if kind.short_names else ""
    plural = kind.plural if kind.group == GROUP else f"{kind.plural}.{kind.group}"
    return f"| [{_heading(kind)}](#{_anchor(kind)}) | {short} | `{plural}` |"


def _heading(kind: Kind) -> str:
    """Title of a kind's section; those of another group may share their name with one of ours."""
    return kind.name if kind.group == GROUP else f"{kind.name} of {kind.group}"


def _anchor(kind: Kind) -> str:
    return _heading(kind).lower().replace(".", "").replace(" ", "-")


def _section(kind: Kind, listed: dict[str, str]) -> str:
    lines = [f"## {_heading(kind)}", "", kind.description, ""]
    lines += ["| field | type | meaning |", "|---|---|---|"]
    lines += _rows(kind.schema, "", kind.name, listed)
    rules = sorted(set(_messages(kind.schema)))
    lines += ["", "Rules that the API server checks:", "", *(f"- {rule}" for rule in rules), ""]
    return "\n".join(lines)


def _rows(node: Json, path: str, kind: str, listed: dict[str, str]) -> Iterator[str]:
    """Rows of all fields below a node; parts that were listed before only refer to that place."""
    required = node.get("required", [])
    for key, value in node.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        inner, inner_path = (value["items"], f"{here}[]") if "items" in value else (value, here)
        fields = json.dumps(inner.get("properties", {}), sort_keys=True)
        place = listed.setdefault(fields, f"`{inner_path}` of {kind}")
        known = fields != "{}" and place != f"`{inner_path}` of {kind}"
        yield _row(here, value, key in required, f" Fields: see {place}." if known else "")
        if not known:
            yield from _rows(inner, inner_path, kind, listed)


def _row(path: str, node: Json, required: bool, where: str) -> str:
    meaning = node["description"].replace("|", "\\|")
    if required:
        meaning = f"**Required.** {meaning}"
    if "enum" in node:
        meaning += " One of " + ", ".join(f"`{value}`" for value in node["enum"]) + "."
    return f"| `{path}` | {_type(node)} | {meaning}{where} |"


def _type(node: Json) -> str:
    if node.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}"
    values = node.get("additionalProperties")
    if isinstance(values, dict):
        return f"map to {_type(values)}"
    return str(node.get("type", "any"))


def _messages(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _messages(item)
    if isinstance(node, dict):
        for rule in node.get("x-kubernetes-validations", []):
            yield rule["message"]
        for key, value in node.items():
            if key != "x-kubernetes-validations":
                yield from _messages(value)
