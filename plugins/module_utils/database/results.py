# SPDX-License-Identifier: Apache-2.0
"""What a pass did in the database, as it travels from the action to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseResults:
    """What came of asking for a database.

    Attributes:
        reason: an `ObjectReason` of what went wrong; empty if nothing did.
        message: the same in a sentence.
        unchanged: it was not asked for: it was there a short time ago, and nothing changed.
        number: of the database in MatrixOne's catalog; empty if it is not there, or not ours.
        checked: when, RFC 3339; empty if nobody answered.
        created: it was created now.
        dropped: it was dropped now.
        spared: it is another one than that of the resource, and was not dropped.
    """

    reason: str = ""
    message: str = ""
    unchanged: bool = False
    number: str = ""
    checked: str = ""
    created: bool = False
    dropped: bool = False
    spared: bool = False

    @property
    def changed(self) -> bool:
        """Whether it was created or dropped now."""
        return self.created or self.dropped

    def as_variable(self) -> dict[str, Any]:
        """Return them as a variable of Ansible."""
        return asdict(self)

    @classmethod
    def read(cls, variable: Mapping[str, Any]) -> Self | None:
        """Return what `as_variable` wrote; None for an empty mapping."""
        return cls(**variable) if variable else None
