# SPDX-License-Identifier: Apache-2.0
"""What short names of modules and plugins mean to the installed ansible-core, by its own table."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

PREFIXES = ("ansible.builtin.", "ansible.legacy.")


@dataclass(frozen=True)
class Routing:
    """Names of ansible-core and where it looks for those that it no longer has.

    Attributes:
        modules: that it contains; empty if no ansible-core is installed.
        redirects: for ``modules``, ``filter``, ``lookup`` and ``test``: full names by short ones.
        removed: messages by module.
    """

    modules: frozenset[str] = frozenset()
    redirects: dict[str, dict[str, str]] = field(default_factory=dict)
    removed: dict[str, str] = field(default_factory=dict)

    def full_name(self, module: str) -> str:
        """The name with its collection; ``""`` for a short name that ansible-core does not know."""
        short = module
        for prefix in PREFIXES:
            short = short.removeprefix(prefix)
        if "." in short:
            return short
        if short in self.modules:
            return f"ansible.builtin.{short}"
        return self.redirects.get("modules", {}).get(short, "")


@cache
def load(folder: Path | None) -> Routing:
    """The table of an ansible-core in a folder; an empty one without it."""
    if folder is None:
        return Routing()
    text = (folder / "config" / "ansible_builtin_runtime.yml").read_text()
    table: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)["plugin_routing"]
    redirects = {
        kind: {name: str(item["redirect"]) for name, item in entries.items() if "redirect" in item}
        for kind in ("modules", "filter", "lookup", "test")
        if (entries := table.get(kind, {})) is not None
    }
    removed = {
        name: str(item["tombstone"].get("warning_text") or "it was removed")
        for name, item in {**table.get("action", {}), **table.get("modules", {})}.items()
        if "tombstone" in item
    }
    found = {path.stem for path in (folder / "modules").glob("*.py")}
    return Routing(frozenset(found - {"__init__"}), redirects, removed)
