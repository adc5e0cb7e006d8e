# SPDX-License-Identifier: Apache-2.0
"""Remembers what runs have written, so that a run is not run again because of itself.

A change counts as a run's own only if the object is in exactly the version that the API server
gave as the answer to a write of that run; anything that came later or from somebody else counts.
"""

from collections import OrderedDict

from ansible_operator.kube.interface import Object
from ansible_operator.loop.queue import Key

REMEMBERED = 20_000


class OwnWrites:
    """Versions of objects that runs have led to; the oldest are forgotten first."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._versions: OrderedDict[tuple[Key, str, str], None] = OrderedDict()

    def note(self, owner: Key, uid: str, version: str) -> None:
        """A run of ``owner`` has brought the object with this uid to this version."""
        if not uid or not version:
            return
        self._versions[owner, uid, version] = None
        if len(self._versions) > self._remembered:
            self._versions.popitem(last=False)

    def include(self, owner: Key, obj: Object) -> bool:
        """Whether the state of an object is what a run of ``owner`` has written."""
        metadata = obj["metadata"]
        entry = (owner, metadata.get("uid", ""), metadata.get("resourceVersion", ""))
        return entry in self._versions
