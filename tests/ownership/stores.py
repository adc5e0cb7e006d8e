# SPDX-License-Identifier: Apache-2.0
"""An object store in memory, of which every request can be held back, counted, or be the last."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.errors import (
    Absent,
    Unsupported,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    PAGE,
    Entry,
    Erasable,
)

Before = Callable[[str], None]
"""Is called with a request's name before it is carried out."""


class Conditions(Enum):
    """What a server does with ``If-None-Match``."""

    KNOWN = "known"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass
class Bucket:
    """What all stores of a bucket share."""

    objects: dict[str, bytes] = field(default_factory=dict)
    conditions: Conditions = Conditions.KNOWN


@dataclass
class MemoryStore:
    """A prefix of a bucket."""

    bucket: Bucket
    prefix: str = ""
    before: Before = lambda _request: None
    page: int = PAGE

    @property
    def name(self) -> str:
        return f"memory/{self.prefix}".rstrip("/")

    @property
    def _root(self) -> str:
        return f"{self.prefix}/" if self.prefix else ""

    def _keys(self, start: str = "") -> list[str]:
        whole = self._root + start
        found = sorted(key for key in self.bucket.objects if key.startswith(whole))
        return [key.removeprefix(self._root) for key in found]

    def require(self) -> None:
        self.before("require")

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        self.before("entries")
        for key in self._keys(prefix):
            yield Entry(key, len(self.bucket.objects[self._root + key]))

    def folders(self, folder: str = "") -> Iterator[str]:
        self.before(f"folders {folder}")
        rest = (key.removeprefix(folder) for key in self._keys(folder))
        yield from dict.fromkeys(key.partition("/")[0] for key in rest if "/" in key)

    def size(self, key: str) -> int | None:
        self.before(f"size {key}")
        content = self.bucket.objects.get(self._root + key)
        return None if content is None else len(content)

    def read(self, key: str) -> Iterator[bytes]:
        self.before(f"read {key}")
        try:
            yield self.bucket.objects[self._root + key]
        except KeyError:
            raise Absent(f"{key} in {self.name}") from None

    def write(self, key: str, pieces: Iterable[bytes], size: int) -> None:
        self.before(f"write {key}")
        self.bucket.objects[self._root + key] = b"".join(pieces)
        assert len(self.bucket.objects[self._root + key]) == size

    def flush(self) -> None:
        pass

    def create(self, key: str, content: bytes) -> bool:
        self.before(f"create {key}")
        if self.bucket.conditions is Conditions.REFUSED:
            raise Unsupported("If-None-Match")
        known = self.bucket.conditions is Conditions.KNOWN
        if known and self._root + key in self.bucket.objects:
            return False
        self.bucket.objects[self._root + key] = content
        return True

    def put_new(self, key: str, content: bytes) -> bool:
        """Write an object as the database does, which replaces none."""
        self.before(f"create {key}")
        if self._root + key in self.bucket.objects:
            return False
        self.bucket.objects[self._root + key] = content
        return True

    def beginning(self, start: str) -> list[str]:
        self.before(f"beginning {start}")
        return [key for key in self._keys(start) if "/" not in key.removeprefix(start)]

    def ancestors(self) -> "Iterator[tuple[MemoryStore, str]]":
        prefix = self.prefix
        while prefix:
            prefix = prefix.rpartition("/")[0]
            inside = self.prefix.removeprefix(f"{prefix}/" if prefix else "")
            yield MemoryStore(self.bucket, prefix, self.before, self.page), inside

    def erasable(self, start: str = "") -> Iterator[Sequence[Erasable]]:
        self.before("erasable")
        keys = self._keys(start)
        for first in range(0, len(keys), self.page):
            yield [Erasable(key) for key in keys[first : first + self.page]]

    def erase(self, items: Sequence[Erasable]) -> None:
        self.before(f"erase {' '.join(item.key for item in items)}")
        for item in items:
            self.bucket.objects.pop(self._root + item.key, None)

    def tidy(self) -> None:
        pass


def put(bucket: Bucket, key: str, content: bytes = b"x") -> None:
    bucket.objects[key] = content
