# SPDX-License-Identifier: Apache-2.0
"""From which versions to which a database of MatrixOne is known not to get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..api.versions import Version


@dataclass(frozen=True, slots=True)
class Failure:
    """An upgrade that is known to fail.

    Attributes:
        origin: numbers of the versions from which it fails: a release, or one version of it.
        since: the oldest release to which it fails.
        what: what becomes of the database.
    """

    origin: tuple[int, ...]
    since: tuple[int, int]
    what: str

    def concerns(self, origin: Version, target: Version) -> bool:
        """Return whether it is about these versions."""
        starts = origin.numbers[: len(self.origin)] == self.origin
        return starts and target.release >= self.since


FAILURES: Final = (
    Failure((1, 3), (2, 0), "the new version cannot read the catalog, and no login succeeds"),
    Failure((2, 0, 1), (3, 0), "the upgrade of the catalog never completes"),
)
"""As seen on running databases, see docs/versions.md."""


def known_failure(origin: Version, target: Version) -> str:
    """Return what is known to become of a database on this path; empty if nothing is known.

    Args:
        origin: the version that has written the data.
        target: the version that it is upgraded to.
    """
    return next((one.what for one in FAILURES if one.concerns(origin, target)), "")
