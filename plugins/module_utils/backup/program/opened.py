# SPDX-License-Identifier: Apache-2.0
"""Read a backup, and those that it continues."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ...clients.objectstore import interface
from ...clients.objectstore.errors import Absent, StoreAbsent
from ...clients.objectstore.interface import ObjectStore
from ...location.locations import FolderLocation, Location
from .. import manifest as manifests
from ..errors import InvalidManifest
from ..manifest import Base, Manifest
from ..task.tasks import Reason
from . import listings
from .contents import Contents
from .errors import TaskFailed
from .listings import DataFile

LONGEST_CHAIN = 1000
"""Backups that continue one another; a longer chain, or a circle, is refused."""
Opener = Callable[[Location], ObjectStore]


@dataclass(frozen=True, slots=True)
class Listed:
    """What a folder with a backup in it holds.

    Attributes:
        contents: its files.
        sizes: bytes of content by key below the folder.
        files: of ``tae_list``.
        sums: sha256 by key, of what is here and whose sum is known.
    """

    contents: Contents
    sizes: dict[str, int]
    files: list[DataFile]
    sums: dict[str, str]


@dataclass(frozen=True, slots=True)
class Opened:
    """A backup that has its record.

    Attributes:
        location: where it is.
        manifest: its record.
        listed: what it holds.
    """

    location: Location
    manifest: Manifest
    listed: Listed


@dataclass(frozen=True, slots=True)
class Holding:
    """A file that a restored database needs.

    Attributes:
        contents: of the backup that has it.
        key: there.
        size: bytes of content.
        sha256: of the content; None when no one has taken it.
    """

    contents: Contents
    key: str
    size: int
    sha256: str | None


def listed(store: ObjectStore) -> Listed:
    """Read the lists of a folder.

    Raises:
        TaskFailed: a list is missing or corrupt.
    """
    contents = Contents(store)
    try:
        files = listings.data_files(contents.small(listings.LIST))
        sizes = contents.sizes()
        own = contents.small(listings.OWN_SUMS) if listings.OWN_SUMS in sizes else b""
        sums = {f"{listings.DATA}{file.path}": file.sha256 for file in files if file.here}
        known = listings.sums(own) | {key: found for key, found in sums.items() if found}
    except listings.MalformedList as error:
        raise TaskFailed(Reason.OBJECT_CORRUPT, f"{store.name}: {error}") from error
    return Listed(contents, sizes, files, known)


def record(store: ObjectStore) -> Manifest | None:
    """Return the record of the backup in a store; None when there is none.

    Raises:
        TaskFailed: it is malformed.
    """
    try:
        return manifests.from_json(interface.read_small(store, manifests.FILE, manifests.LARGEST))
    except Absent:
        return None
    except (InvalidManifest, ValueError) as error:
        raise TaskFailed(Reason.OBJECT_CORRUPT, f"{store.name}: {error}") from error


def open_chain(location: Location, expected_id: str | None, opener: Opener) -> list[Opened]:
    """Read a backup and all that it continues, the newest first.

    Args:
        location: of the newest.
        expected_id: that it must have; None for any.
        opener: opens stores.

    Raises:
        TaskFailed: ObjectMissing when there is no backup, ChainBroken when one of its bases is not
            there, or is another one; TargetMissing when the place itself is not there, for example
            as a volume is not mounted, so that nothing is known of the backup.
    """
    chain = [_open(location, opener(location), expected_id)]
    while base := chain[-1].manifest.base:
        if len(chain) == LONGEST_CHAIN:
            raise TaskFailed(Reason.CHAIN_BROKEN, f"more than {LONGEST_CHAIN} backups in a chain")
        chain.append(_open_base(chain[-1].location, base, opener))
    return chain


def _open(location: Location, store: ObjectStore, expected_id: str | None) -> Opened:
    manifest = record(store)
    if manifest is None:
        require_place(location, store)
        raise TaskFailed(
            Reason.OBJECT_MISSING,
            f"{store.name} holds no complete backup: {manifests.FILE} is missing",
        )
    if expected_id not in (None, manifest.id):
        raise TaskFailed(
            Reason.OBJECT_CORRUPT,
            f"{store.name} holds the backup {manifest.id}, not {expected_id}",
        )
    return Opened(location, manifest, listed(store))


def _open_base(location: Location, base: Base, opener: Opener) -> Opened:
    """Open a base where it was, or beside its successor, when both were moved together."""
    unseen: list[TaskFailed] = []
    for place in base_places(location, base):
        store = opener(place)
        try:
            manifest = record(store)
            if manifest is None and not _are_beside(place, location):
                require_place(place, store)
        except StoreAbsent as error:
            unseen.append(TaskFailed(Reason.TARGET_MISSING, str(error)))
            continue
        except TaskFailed as error:
            if error.reason is not Reason.TARGET_MISSING:
                raise
            unseen.append(error)
            continue
        if manifest and manifest.id == base.id:
            return Opened(place, manifest, listed(store))
    if unseen:
        raise unseen[0]
    raise TaskFailed(
        Reason.CHAIN_BROKEN,
        f"the backup {base.id} at {base.path}, which {location.address} continues, is not there",
    )


def _are_beside(place: Location, other: Location) -> bool:
    """Return whether two folders are in one, so that who sees one would see the other."""
    return posixpath.dirname(place.address) == posixpath.dirname(other.address)


def require_place(location: Location, store: ObjectStore) -> None:
    """Return when a place that holds no record can be seen, so that it is known to hold none.

    A folder that does not exist may be on a volume that is not mounted. A bucket says so itself.

    Raises:
        TaskFailed: TargetMissing.
        StoreError: the store cannot be listed.
    """
    store.require()
    if isinstance(location, FolderLocation) and next(iter(store.entries()), None) is None:
        raise TaskFailed(
            Reason.TARGET_MISSING,
            f"{store.name} is not there, or is empty; is the volume mounted?",
        )


def base_places(location: Location, base: Base) -> Iterator[Location]:
    """Yield where a base may be."""
    absolute = isinstance(location, FolderLocation)
    yield location.at(base.path)
    sibling = posixpath.join(posixpath.dirname(location.address), posixpath.basename(base.path))
    if sibling.strip("/") != base.path.strip("/") and (absolute or "/" in sibling):
        yield location.at(sibling)


_OF_DATA: Final = frozenset(
    {Reason.OBJECT_MISSING, Reason.OBJECT_CORRUPT, Reason.CHAIN_BROKEN},
)


@contextmanager
def still_there(chain: list[Opened]) -> Iterator[None]:
    """Let what is read of a chain be found damaged only while its records can be read.

    What is unmounted, or deleted by somebody, in the middle of it looks like a damage.

    Raises:
        TaskFailed: what the block raises; TargetMissing instead if a record is gone by then.
        StoreError: a store cannot be read any more.
    """
    try:
        yield
    except TaskFailed as error:
        if error.reason in _OF_DATA:
            for one in chain:
                store = one.listed.contents.store
                present = record(store)
                if present is None or present.id != one.manifest.id:
                    message = f"{store.name} went away while it was read: {error}"
                    raise TaskFailed(Reason.TARGET_MISSING, message) from error
        raise


def holdings(chain: list[Opened]) -> Iterator[tuple[str, Holding]]:
    """Yield every data file of a database by its path, and where in the chain it is.

    Raises:
        TaskFailed: ObjectMissing or ChainBroken: no backup of the chain has it, or its size is
            another one.
    """
    newest = chain[0].listed
    for file in newest.files:
        key = f"{listings.DATA}{file.path}"
        at = _holder(chain, file)
        size = at.sizes[key]
        if size != file.size:
            raise TaskFailed(
                Reason.OBJECT_CORRUPT,
                f"{key} in {at.contents.store.name} has {size} bytes instead of {file.size}",
            )
        yield file.path, Holding(at.contents, key, size, at.sums.get(key))


def _holder(chain: list[Opened], file: DataFile) -> Listed:
    key = f"{listings.DATA}{file.path}"
    if file.here:
        if key not in chain[0].listed.sizes:
            name = chain[0].listed.contents.store.name
            raise TaskFailed(Reason.OBJECT_MISSING, f"{key} in {name} is missing")
        return chain[0].listed
    for older in chain[1:]:
        if key in older.listed.sizes:
            return older.listed
    raise TaskFailed(
        Reason.CHAIN_BROKEN, f"{key} is in no backup that {chain[0].location.address} continues"
    )
