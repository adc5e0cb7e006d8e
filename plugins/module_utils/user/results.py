# SPDX-License-Identifier: Apache-2.0
"""What a pass did in the database, as it travels from the action to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class UserResults:
    """What came of asking the database; no field holds a secret.

    Attributes:
        reason: a `ObjectReason` of what went wrong; empty if nothing did.
        message: the same in a sentence.
        unchanged: the database was not asked: all was so a short time ago, and nothing changed.
        secret: name of the Secret with the password.
        version: its ``resourceVersion``, when a login with it has succeeded.
        granted: what the role has, of what it is to have; one text for each place.
        missing: databases and tables that are not there.
        checked: when, RFC 3339; empty if the database did not answer.
        created: the user was created now.
        changes: how many statements were run.
        binding: name of the Secret that tells how to connect; empty if there is none.
    """

    reason: str = ""
    message: str = ""
    unchanged: bool = False
    secret: str = ""
    version: str = ""
    granted: Sequence[str] = ()
    missing: Sequence[str] = ()
    checked: str = ""
    created: bool = False
    changes: int = 0
    binding: str = ""

    @property
    def changed(self) -> bool:
        """Whether user or privileges are others now."""
        return self.changes > 0

    def as_variable(self) -> dict[str, Any]:
        """Return them as a variable of Ansible."""
        return asdict(self)

    @classmethod
    def read(cls, variable: Mapping[str, Any]) -> Self | None:
        """Return what `as_variable` wrote; None for an empty mapping."""
        return cls(**variable) if variable else None
