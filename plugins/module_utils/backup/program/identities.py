# SPDX-License-Identifier: Apache-2.0
"""The id of the backup that a play makes at an address, unique for all time."""

from __future__ import annotations

import uuid

from ...clients.objectstore.errors import StoreAbsent
from ...clients.objectstore.interface import ObjectStore
from ...ownership import marks
from .opened import record


def id_at(store: ObjectStore, address: str) -> str:
    """Return the id of the backup that plays have made or begun at an address, or a new one.

    Args:
        store: of the address.
        address: uid of whoever makes backups there by plays. Earlier releases used it as the id.

    Raises:
        Foreign: what is there is none of ours.
        StoreError: the store does not tell.
    """
    try:
        mark = marks.read(store, marks.first_key(marks.OWNER))
        found = record(store)
    except StoreAbsent:
        return str(uuid.uuid4())
    if mark and mark.owner.uid == address:
        return mark.id
    if found and found.id == address:
        return found.id
    return str(uuid.uuid4())
