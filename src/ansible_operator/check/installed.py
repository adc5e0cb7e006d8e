# SPDX-License-Identifier: Apache-2.0
"""What an installed collection contains."""

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pathlib import Path

from ansible_operator.check.documents import Located, UnreadableError, read


class State(Enum):
    """Whether a collection has a module."""

    PRESENT = auto()
    REMOVED = auto()
    ABSENT = auto()


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a collection.

    Attributes:
        redirect: the full name of what it is now called; ``""`` for none.
        message: what its collection says of its removal.
    """

    state: State
    redirect: str = ""
    message: str = ""


def module(folder: Path, name: str) -> Module:
    """Look up a module by its name without the collection, in the folder of the collection."""
    for kind in ("action", "modules"):
        entry = _routing(folder).get(kind, {}).get(name)
        if entry is None:
            continue
        if "tombstone" in entry:
            text = entry["tombstone"].keys.get("warning_text")
            return Module(State.REMOVED, message=text.text if text else "it was removed")
        if "redirect" in entry:
            return Module(State.PRESENT, redirect=entry["redirect"].text)
    path = name.replace(".", "/")
    for kind in ("modules", "action"):
        if any((folder / "plugins" / kind).glob(f"{path}.*")):
            return Module(State.PRESENT)
    return Module(State.ABSENT)


@cache
def _routing(folder: Path) -> dict[str, dict[str, dict[str, Located]]]:
    """The table of a collection: by kind and name of a plugin."""
    try:
        documents = read(folder / "meta" / "runtime.yml")
    except UnreadableError:
        return {}
    found = documents[0].keys.get("plugin_routing") if documents else None
    return {
        kind: {name: entry.keys for name, entry in entries.keys.items()}
        for kind, entries in (found.keys if found else {}).items()
    }
