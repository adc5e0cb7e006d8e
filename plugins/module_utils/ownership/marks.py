# SPDX-License-Identifier: Apache-2.0
"""Marks: objects that say for all time whose a prefix or folder is."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..api.owners import Owner
from ..api.timestamps import timestamp_now
from ..backup import manifest as manifests
from ..clients.objectstore import interface
from ..clients.objectstore.errors import Absent
from ..clients.objectstore.interface import ObjectStore
from .errors import Foreign

OWNER: Final = "matrixone-owner"
"""Base of the names of marks of a backup, and of a database."""
RESTORE: Final = "matrixone-restore"
"""Base of the names of marks of a copy of a backup; a database may own what became of the copy."""
EARLIER_ATTEMPT: Final = "matrixone-backup.attempt.json"
"""What earlier releases wrote where a backup was being made."""
BESIDE_MARK: Final = frozenset({manifests.FILE, EARLIER_ATTEMPT})
"""Objects that an owner's own attempts write beside its mark."""
RUNNING: Final = "Running"
DONE: Final = "Done"
BEGINNING: Final = "matrixone-"
"""Of the names of all objects that are not the database's."""
_LARGEST: Final = 4096
_MARK: Final = re.compile(r"matrixone-(?:owner|restore)(?:\.(\d{4})|\.request-[0-9a-f]+)?\.json")
_HELD: Final = frozenset(
    {f"{OWNER}.json", f"{RESTORE}.json", EARLIER_ATTEMPT, manifests.FILE},
)
"""Names of objects each of which says that the files around it are somebody's."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a mark says.

    Attributes:
        owner: whose the files are.
        id: of the backup or the restore that they belong to, unique for all time.
        nonce: of the attempt that wrote the mark.
        created_at: RFC 3339, by the clock of the writer; for people alone.
        process: that writes it, where there is no Job to say whether it still runs; else empty.
        state: of a restore, `RUNNING` or `DONE`; empty for others.
        backup: id of the backup that is restored; empty for others.
    """

    owner: Owner
    id: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    created_at: str = field(default_factory=timestamp_now)
    process: str = ""
    state: str = ""
    backup: str = ""

    def of_same(self, other: Mark) -> bool:
        """Return whether both are of one owner and one backup or restore."""
        return (self.id, self.owner.uid) == (other.id, other.owner.uid)

    def again(self, earlier: Mark) -> Mark:
        """Return the mark of a later attempt: this one, about what the earlier one says."""
        return replace(self, state=earlier.state, backup=earlier.backup)

    def __str__(self) -> str:
        """Return how messages name it."""
        since = f", since {self.created_at}" if self.created_at else ""
        return f"{self.owner} ({self.id}{since})"


def first_key(base: str) -> str:
    """Return the key of the mark itself."""
    return f"{base}.json"


def key_of(base: str, number: int) -> str:
    """Return the key of an attempt: the first one has the mark itself."""
    return first_key(base) if number == 1 else f"{base}.{number:04d}.json"


def request_key(base: str, nonce: str) -> str:
    """Return the key of an attempt's request."""
    return f"{base}.request-{nonce}.json"


def is_of_mark(key: str, base: str) -> bool:
    """Return whether an object in the store's root belongs to a mark: itself or its attempts."""
    return key.startswith(f"{base}.") and _MARK.fullmatch(key) is not None


def is_mark(key: str) -> bool:
    """Return whether an object in the store's root is a mark, an attempt, or a request."""
    return _MARK.fullmatch(key) is not None


def is_request(key: str) -> bool:
    """Return whether an object in the store's root is a request."""
    return is_mark(key) and ".request-" in key


def holders(keys: Iterable[str]) -> list[str]:
    """Return the keys that say that the files beside them are somebody's."""
    return [key for key in keys if key.rsplit("/", 1)[-1] in _HELD]


def number_in(keys: Iterable[str], base: str) -> int:
    """Return the number of the latest attempt; 0 without any."""
    found = [_MARK.fullmatch(key) for key in keys if key.startswith(f"{base}.")]
    numbers = [int(one.group(1) or 1) for one in found if one and not is_request(one.group())]
    return max(numbers, default=0)


def latest(store: ObjectStore, base: str) -> tuple[int, Mark | None]:
    """Return the number and the mark of the latest attempt; 0 and None without any.

    Raises:
        Foreign: an object of its name is none of ours, or not written to its end yet.
        StoreError: the store does not tell.
    """
    number = number_in(store.beginning(f"{base}."), base)
    return number, read(store, key_of(base, number)) if number else None


def to_json(mark: Mark) -> bytes:
    """Return a mark as it is stored; ``task`` is what earlier releases read of a restore."""
    owner = mark.owner
    document: dict[str, Any] = {
        "kind": owner.kind,
        "namespace": owner.namespace,
        "name": owner.name,
        "uid": owner.uid,
        "id": mark.id,
        "nonce": mark.nonce,
        "createdAt": mark.created_at,
    }
    if mark.process:
        document["process"] = mark.process
    if mark.state:
        document |= {"task": mark.id, "state": mark.state, "backup": mark.backup}
    return json.dumps(document, separators=(",", ":")).encode()


def read(store: ObjectStore, key: str) -> Mark | None:
    """Return a mark, also one of an earlier release; None where there is none.

    Raises:
        Foreign: an object of that name is none of ours, or not written to its end yet.
        StoreError: the store does not tell.
    """
    try:
        return _of(json.loads(interface.read_small(store, key, _LARGEST)))
    except Absent:
        return None
    except (ValueError, TypeError, RecursionError) as error:
        raise Foreign(f"{key} in {store.name} is not what this program writes") from error


def _of(document: Any) -> Mark:
    if not isinstance(document, Mapping):
        raise TypeError("no object")
    texts = {name: value for name, value in document.items() if isinstance(value, str)}
    identity = texts.get("id") or texts.get("task")
    if not identity:
        raise ValueError("no id")
    kind, namespace, name, uid = (
        texts.get(key, "") for key in ("kind", "namespace", "name", "uid")
    )
    return Mark(
        Owner(kind, namespace, name, uid or identity),
        identity,
        texts.get("nonce", ""),
        texts.get("createdAt", ""),
        texts.get("process", ""),
        texts.get("state", ""),
        texts.get("backup", ""),
    )
