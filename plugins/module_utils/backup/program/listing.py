# SPDX-License-Identifier: Apache-2.0
"""Find the backups below a prefix or folder."""

from __future__ import annotations

from collections.abc import Iterator

from ...clients.objectstore import interface
from ...clients.objectstore.interface import ObjectStore
from .. import manifest as manifests
from ..errors import InvalidManifest
from ..manifest import Manifest


def backups(store: ObjectStore) -> Iterator[tuple[str, Manifest]]:
    """Yield every complete backup with its path below the store, the oldest first.

    What has a record that cannot be read is left out: it is no backup that can be restored here.

    Raises:
        StoreError: the store cannot be listed.
    """
    suffix = f"/{manifests.FILE}"
    found = []
    for entry in store.entries():
        key = f"/{entry.key}"
        if not key.endswith(suffix) or entry.size > manifests.LARGEST:
            continue
        try:
            text = interface.read_small(store, entry.key, manifests.LARGEST)
            found.append((key.removesuffix(suffix).strip("/"), manifests.from_json(text)))
        except (InvalidManifest, ValueError):
            continue
    yield from sorted(found, key=lambda one: (one[1].started_at, one[1].id))
