# SPDX-License-Identifier: Apache-2.0
"""Which of all objects this process runs, when several processes share them.

Every object belongs to one shard, by a hash of its namespace and name, so that objects of several
kinds with one name are run by the same process. A kind that allows one run at a time has all its
objects in one shard: as many processes would otherwise run as many of them at once.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field

from ansible_operator.loop.queueing.queue import Key


@dataclass(slots=True)
class Shards:
    """The shards whose objects this process runs now.

    Attributes:
        count: shards of all processes together; 1 for objects that are not shared.
        whole: controllers of kinds whose objects are all in one shard.
        open: numbers of the shards whose objects are run here.
    """

    count: int = 1
    whole: Collection[str] = ()
    open: set[int] = field(default_factory=set)

    def number(self, key: Key) -> int:
        """The shard of an object, the same in every process."""
        text = key.controller if key.controller in self.whole else f"{key.namespace}/{key.name}"
        # Not a CRC: those of names that differ in a digit fall into few shards.
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return int.from_bytes(digest) % self.count

    def include(self, key: Key) -> bool:
        """Whether an object is run here."""
        return self.count == 1 or self.number(key) in self.open
