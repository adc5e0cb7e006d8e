# SPDX-License-Identifier: Apache-2.0
"""From which versions to which a database of MatrixOne is known not to get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..api.versions import Version, parse, reported


@dataclass(frozen=True, slots=True)
class Failure:
    """An upgrade that is known to fail.

    Attributes:
        origin: numbers of the versions from which it fails: a release, or one version of it.
        since: the oldest release to which it fails.
        what: what becomes of the database.
        until: the newest version of which that is known; None if all later ones count.
    """

    origin: tuple[int, ...]
    since: tuple[int, int]
    what: str
    until: tuple[int, int, int] | None = None

    def concerns(self, origin: Version, target: Version) -> bool:
        """Return whether it is about these versions."""
        starts = origin.numbers[: len(self.origin)] == self.origin
        ends = self.until is not None and target.numbers > self.until
        return starts and target.release >= self.since and not ends


_BEFORE_ITS_TABLE: Final = (
    "the upgrade of the catalog never completes, because it changes mo_catalog.mo_pitr before it "
    "creates a table that this needs (mo_feature_registry); upgrade to 4.1 first"
)
FAILURES: Final = (
    Failure((1, 3), (2, 0), "the new version cannot read the catalog, and no login succeeds"),
    Failure((2, 0, 1), (3, 0), "the upgrade of the catalog never completes"),
    # Seen from 3.0.14. All older catalogs take the same steps (pkg/bootstrap/versions/v4_0_0).
    *(Failure((major,), (4, 2), _BEFORE_ITS_TABLE, until=(4, 2, 0)) for major in (1, 2, 3)),
)
"""As seen on running databases, see docs/versions.md."""


def known_failure(origin: Version, target: Version) -> str:
    """Return what is known to become of a database on this path; empty if nothing is known.

    Args:
        origin: the version that has written the data.
        target: the version that it is upgraded to.
    """
    return next((one.what for one in FAILURES if one.concerns(origin, target)), "")


def problem_of_restore(written_by: str, runs: str) -> str:
    """Return why a database cannot run on a backup; empty if nothing is known against it.

    Args:
        written_by: what the database of the backup reported as its version.
        runs: version of the one that is to run on it; empty if that is unknown.
    """
    origin, target = reported(written_by), parse(runs)
    if origin is None or target is None:
        return ""
    if target.release < origin.release:
        return f"MatrixOne {target} cannot read what {origin} has written; restore it into {origin}"
    if failure := known_failure(origin, target):
        return (
            f"a database of MatrixOne {origin} does not get to {target}: {failure}; restore it "
            f"into {origin}"
        )
    return ""
