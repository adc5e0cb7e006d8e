# SPDX-License-Identifier: Apache-2.0
"""How far the catalog of a database is, by the rows in which MatrixOne records it.

A compute node of a newer version adds a row to `mo_version` and steps to `mo_upgrade`, and then
works on them in the background; what goes wrong is only logged. So the rows are what can be seen,
and the log, which MatrixOne keeps in tables, tells why they do not change.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from ..api import versions

Row = Sequence[Any]

STATEMENTS: Final = (
    "select version, version_offset, state from mo_catalog.mo_version limit 100",
    (
        "select from_version, to_version, total_tenant, ready_tenant from mo_catalog.mo_upgrade "
        "where state <> 2 order by upgrade_order, id limit 100"
    ),
    "select count(*) from mo_catalog.mo_upgrade_tenant where ready = 0",
)
"""What is asked: the arguments of `Catalog.of`, in order."""
LAST_FAILURE: Final = (
    (
        "select extra from system.log_info where level = 'error' and message like %s "
        "and timestamp > date_sub(now(), interval 10 minute) order by timestamp desc limit 1"
    ),
    ("% upgrade entry execute error",),
)
"""What is asked of a catalog that stands still. Since 2.0, MatrixOne logs each statement of an
upgrade that failed by such a message (pkg/bootstrap/versions), and tries it again all the time."""
_LONGEST: Final = 300
"""Characters of what was logged that a message has; a statement may be a whole table."""
READY: Final = 2
_NAMES: Final = {0: "created", 1: "upgrading tenants", READY: "ready"}


@dataclass(frozen=True, slots=True)
class Catalog:
    """What is known of a catalog.

    Attributes:
        problem: why nothing is known; empty if it was read.
        serves: whether the database answers logins, as far as that was tried.
        version: the newest version in `mo_version`.
        offset: the newest one of that version.
        state: of that version; `READY` when it is done.
        step: the first step that is not done, as ``2.0.1 to 2.0.2``; empty if all are.
        steps: how many are not done.
        tenants: how many tenants the first one still has to upgrade.
        tasks: parts of tenants that are not done.
        failure: what failed last, as it was logged; empty if that is unknown or nothing did. It
            comes and goes while the catalog is the same.
    """

    problem: str = ""
    serves: bool = True
    version: str = ""
    offset: int = 0
    state: int = 0
    step: str = ""
    steps: int = 0
    tenants: int = 0
    tasks: int = 0
    failure: str = dataclasses.field(default="", compare=False)

    @classmethod
    def of(cls, found: Sequence[Row], steps: Sequence[Row], tenants: Sequence[Row]) -> Self:
        """Return what the rows of `STATEMENTS` say.

        Raises:
            ValueError: they are not such rows.
        """
        try:
            return cls._of(found, steps, tenants)
        except (TypeError, IndexError) as error:
            raise ValueError(str(error)) from error

    @classmethod
    def _of(cls, found: Sequence[Row], steps: Sequence[Row], tenants: Sequence[Row]) -> Self:
        known = [(str(name), int(offset), int(state)) for name, offset, state in found]
        if not known:
            raise ValueError("mo_catalog.mo_version has no row")
        version, offset, state = max(known, key=_order)
        open_steps = [(str(a), str(b), int(total), int(done)) for a, b, total, done in steps]
        first = open_steps[0] if open_steps else None
        return cls(
            version=version,
            offset=offset,
            state=state,
            step=f"{first[0]} to {first[1]}" if first else "",
            steps=len(open_steps),
            tenants=max(0, first[2] - first[3]) if first else 0,
            tasks=int(tenants[0][0]),
        )

    @classmethod
    def read(cls, result: Mapping[str, Any] | None) -> Self | None:
        """Return what `as_result` wrote; None if nothing was asked."""
        return cls(**result) if result else None

    def as_result(self) -> dict[str, Any]:
        """Return it as it travels through variables of Ansible."""
        return dataclasses.asdict(self)

    def with_failure(self, found: Sequence[Row]) -> Self:
        """Return it with what the rows of `LAST_FAILURE` say."""
        return dataclasses.replace(self, failure=_failure(found))

    @property
    def is_complete(self) -> bool:
        """Whether it is at the final step of a version, with all tenants."""
        return not (self.problem or self.steps or self.tasks) and self.state == READY

    @property
    def release(self) -> tuple[int, int] | None:
        """Major and minor of its version; None if that is none."""
        found = versions.parse(self.version)
        return found.release if found else None

    @property
    def summary(self) -> str:
        """Where it is, for people."""
        if self.problem:
            return self.problem
        if self.is_complete:
            return f"the catalog is that of {self.version}, with all tenants"
        name = _NAMES.get(self.state, str(self.state))
        more = [f"mo_version has {self.version} in state {self.state} ({name})"]
        if self.step:
            left = f", {self.tenants} tenants left" if self.tenants else ""
            more.append(f"{self.steps} steps to do, next {self.step}{left}")
        elif self.tasks:
            more.append(f"{self.tasks} groups of tenants to do")
        if self.failure:
            more.append(f"MatrixOne logged: {self.failure}")
        return "the catalog is not complete: " + "; ".join(more)


def _failure(found: Sequence[Row]) -> str:
    """Return error and statement of a row of `LAST_FAILURE`; empty if there is none, or another."""
    try:
        logged = json.loads(found[0][0])
        error, entry = str(logged["error"]), str(logged.get("upgrade entry") or "")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return ""
    statement = " ".join(entry.partition("upgrade sql: ")[2].split())
    text = f"{error} ({statement})" if statement else error
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _order(row: tuple[str, int, int]) -> tuple[tuple[int, int, int], int]:
    found = versions.parse(row[0])
    return (found.numbers if found else (0, 0, 0)), row[1]
