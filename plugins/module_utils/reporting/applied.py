# SPDX-License-Identifier: Apache-2.0
"""What ``apply`` did in a pass, as its report reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api.types import Manifest


@dataclass(frozen=True, slots=True)
class Change:
    """An object that was created, changed or deleted.

    Attributes:
        kind: of the object.
        name: of the object.
        change: ``created``, ``changed`` or ``deleted``.
    """

    kind: str
    name: str
    change: str

    @property
    def title(self) -> str:
        """The object as ``Kind/name``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Applied:
    """What was applied; nothing if that was not reached.

    Attributes:
        objects: as they are now, by ``Kind/name``.
        before: those that were changed as they were, by ``Kind/name``.
        done: what happened to objects, in order.
    """

    objects: Mapping[str, Manifest] = field(default_factory=dict)
    before: Mapping[str, Manifest] = field(default_factory=dict)
    done: Sequence[Change] = ()

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Applied:
        """Return it from a task's result; empty when the task did not run."""
        return cls(
            objects=result.get("objects") or {},
            before=result.get("before") or {},
            done=changes_in(result),
        )

    def deleted(self) -> Iterator[Change]:
        """Yield the objects that were deleted."""
        return (change for change in self.done if change.change == "deleted")


def changes_in(result: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what a task's result says happened to objects: ``done``."""
    return tuple(
        Change(change["kind"], change["name"], change["change"])
        for change in result.get("done") or []
    )
