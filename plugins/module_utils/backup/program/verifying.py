# SPDX-License-Identifier: Apache-2.0
"""Prove that a backup is whole.

What ``tae_list`` names must be there, with its size and its sha256. MatrixOne leaves out of the
list what it did not find while it made the backup; only restoring the backup and reading every
table shows that nothing was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...location.locations import Location
from ..manifest import Manifest
from ..task.tasks import Amount, Reason, Step
from . import listings
from .errors import TaskFailed
from .listings import CHECKSUM_SUFFIX
from .opened import Holding, Listed, Opener, holdings, open_chain, still_there
from .progress import Progress, for_each

_SUMMED: Final = (listings.META, listings.HAKEEPER, listings.LIST, listings.SUMMARY)
"""Files that MatrixOne gives a sibling with their checksum."""


def verify(
    location: Location,
    expected_id: str | None,
    opener: Opener,
    workers: int,
    progress: Progress,
    *,
    contents: bool = True,
) -> Manifest:
    """Read a whole backup, with what it continues, and compare it with its lists.

    Args:
        location: where it is.
        expected_id: that it must have; None for any.
        opener: opens stores.
        workers: files that are read at a time.
        progress: of the task.
        contents: whether files are read; without it, only their sizes are compared.

    Returns:
        The record of the backup.

    Raises:
        TaskFailed: ObjectMissing, ObjectCorrupt, ChainBroken, or what a store says.
    """
    progress.begin(Step.VERIFY)
    chain = open_chain(location, expected_id, opener)
    with still_there(chain):
        for one in chain:
            require_meta(one.listed)
        found = [holding for _key, holding in holdings(chain)]
        if contents:
            compare(found, workers, progress)
    return chain[0].manifest


def compare(found: list[Holding], workers: int, progress: Progress) -> None:
    """Read files and compare their checksums.

    Raises:
        TaskFailed: one is missing or corrupt.
    """
    progress.begin(Step.VERIFY, Amount(len(found), sum(one.size for one in found)))
    for_each(largest_first(found), lambda one: _compare(one, progress), workers, progress)


def largest_first(found: list[Holding]) -> list[Holding]:
    """Return files in an order in which no large one is left for the end."""
    return sorted(found, key=lambda one: -one.size)


def _compare(one: Holding, progress: Progress) -> None:
    require_sum(one, one.contents.sha256(one.key, progress.advance))


def require_sum(one: Holding, sha256: str) -> None:
    """Compare a checksum with the one that a file must have.

    Raises:
        TaskFailed: it has another one.
    """
    if one.sha256 not in (None, sha256):
        raise TaskFailed(
            Reason.OBJECT_CORRUPT,
            f"{one.key} in {one.contents.store.name} has the sha256 {sha256} instead of "
            f"{one.sha256}",
        )


def require_meta(listed: Listed) -> None:
    """Check the files about the backup against the checksums beside them.

    Raises:
        TaskFailed: one is missing or corrupt.
    """
    for key in _meta_keys(listed):
        expected = listed.contents.small(key + CHECKSUM_SUFFIX).hex()
        holding = Holding(listed.contents, key, listed.sizes.get(key, 0), expected)
        require_sum(holding, listed.contents.sha256(key, lambda _: None))


def _meta_keys(listed: Listed) -> Iterator[str]:
    yield from _SUMMED
    for key in listed.sizes:
        if key.startswith("config/") and key.endswith(CHECKSUM_SUFFIX):
            yield key.removesuffix(CHECKSUM_SUFFIX)


def missing_sums(listed: Listed, progress: Progress) -> dict[str, str]:
    """Take the checksums of the files of this backup that its list has none for.

    They are rewritten checkpoints: a few small files, without which nothing can be restored.
    """
    keys = [
        f"{listings.DATA}{file.path}"
        for file in listed.files
        if file.here and f"{listings.DATA}{file.path}" not in listed.sums
    ]
    return {key: listed.contents.sha256(key, progress.advance) for key in keys}
