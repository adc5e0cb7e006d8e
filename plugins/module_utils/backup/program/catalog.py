# SPDX-License-Identifier: Apache-2.0
"""Wait until a newer MatrixOne has upgraded the catalog of a database that was restored into it.

MatrixOne does so in the background and only logs what fails, so that a catalog which stands still
for long counts as one that does not get any further.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...api.versions import Version
from ...upgrade.catalog import Catalog

PAUSE_SECONDS: Final = 5.0
STILL: Final = 60
"""How many times in a row a catalog is the same before it counts as standing still: 5 minutes."""
SETTLED: Final = 12
"""The same for one that is complete, in a version other than that of the release: MatrixOne names
its catalog by a version of its own, and a new version adds its row within ten seconds."""


def await_upgrade(
    target: Version | None, ask: Callable[[], Catalog], sleep: Callable[[float], None]
) -> Catalog | None:
    """Wait until a catalog is that of the new version, with all tenants.

    Args:
        target: the version that runs; None if it cannot be read.
        ask: reads the catalog.
        sleep: waits, and ends by an error when the task must end.

    Returns:
        The catalog as it stands still; None if it is complete.
    """
    last, same = ask(), 0
    while True:
        if last.is_complete and (same >= SETTLED or (target and last.release == target.release)):
            return None
        if same >= STILL:
            return last
        sleep(PAUSE_SECONDS)
        found = ask()
        last, same = found, same + 1 if found == last else 0
