# SPDX-License-Identifier: Apache-2.0
"""The rights of the operator as data: read, checked, and turned into rules of a role."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

SOURCE = Path(__file__).resolve().parents[1] / "rights.yaml"
OPERATOR = "operator"
_KEYS = frozenset({"why", "scope", "part", "groups", "resources", "names", "verbs", "unseen"})
_NEEDED = frozenset({"why", "scope", "groups", "resources", "verbs"})


class RightsError(Exception):
    """The file of rights cannot be used; the message names the entry."""


class Scope(StrEnum):
    """Where a right is needed."""

    WATCHED = "watched"
    OWN = "own"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Right:
    """One entry of the file.

    Attributes:
        why: what the operator does with it, a sentence.
        scope: where it is needed.
        part: which role it goes to; :data:`OPERATOR` for the operator itself.
        groups: API groups, ``""`` for the core group.
        resources: plurals, with the subresource after a slash.
        names: names of objects that it is restricted to; empty for all.
        verbs: of the API.
        unseen: where a verb is needed that the audit test does not lead to, by verb.
    """

    why: str
    scope: Scope
    part: str
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...]
    verbs: tuple[str, ...]
    unseen: Mapping[str, str] = field(default_factory=dict)

    def rule(self) -> Json:
        """The right as a rule of a Role."""
        rule: Json = {
            "apiGroups": list(self.groups),
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        if self.names:
            rule["resourceNames"] = list(self.names)
        return rule

    def grants(self) -> Iterator[tuple[str, str, str]]:
        """Group, resource and verb of everything that it allows."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    yield group, resource, verb


def read(source: Path = SOURCE) -> list[Right]:
    """Read the file.

    Raises:
        RightsError: an entry lacks something, or has something that means nothing.
    """
    return [
        _right(number, entry) for number, entry in enumerate(yaml.safe_load(source.read_text()))
    ]


def _right(number: int, entry: Mapping[str, Any]) -> Right:
    where = f"rights.yaml, entry {number + 1} ({entry.get('why', 'no why')})"
    if missing := sorted(_NEEDED - set(entry)):
        raise RightsError(f"{where}: {', '.join(missing)} is missing")
    if unknown := sorted(set(entry) - _KEYS):
        raise RightsError(f"{where}: {', '.join(unknown)} means nothing")
    if "*" in {*entry["groups"], *entry["resources"], *entry["verbs"]}:
        raise RightsError(f"{where}: say what is needed instead of '*'")
    try:
        scope = Scope(entry["scope"])
    except ValueError as error:
        raise RightsError(f"{where}: scope is none of {', '.join(Scope)}") from error
    return Right(
        why=entry["why"],
        scope=scope,
        part=entry.get("part", OPERATOR),
        groups=tuple(entry["groups"]),
        resources=tuple(entry["resources"]),
        names=tuple(entry.get("names", ())),
        verbs=tuple(entry["verbs"]),
        unseen=entry.get("unseen", {}),
    )


def chosen(rights: Iterable[Right], scope: Scope, part: str = OPERATOR) -> list[Json]:
    """The rules of one scope and part."""
    return [right.rule() for right in rights if (right.scope, right.part) == (scope, part)]
