# SPDX-License-Identifier: Apache-2.0
"""Cached reads are never older than what a run has written.

Every confirmed write is remembered until the informer of its kind has caught up with it; until
then reads that it could touch go to the API server. Versions of one kind are compared as numbers,
which Kubernetes guarantees for its own storage; where a server uses other versions, the kind is
read live from its first write on.
"""

from dataclasses import dataclass, field

from ansible_operator.kube.informer import KindInformer
from ansible_operator.kube.interface import GroupVersionKind, Object

LONGEST_MEMORY = 2048
"""Writes remembered one by one per kind; beyond, the whole kind waits for the newest of them."""

_Key = tuple[str, str]


@dataclass(slots=True)
class _Deletion:
    uid: str
    is_final: bool


@dataclass(slots=True)
class _Kind:
    floor: int = 0
    is_opaque: bool = False
    writes: dict[_Key, int] = field(default_factory=dict)
    deletions: dict[_Key, _Deletion] = field(default_factory=dict)


class WriteBarrier:
    """The writes of all runs that informers may not have seen yet."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def _kind(self, gvk: GroupVersionKind) -> _Kind:
        return self._kinds.setdefault(_shared(gvk), _Kind())

    def note_write(self, gvk: GroupVersionKind, namespace: str, name: str, version: str) -> None:
        """An object was created or changed and has this resource version now."""
        kind = self._kind(gvk)
        if not version.isdecimal():
            kind.is_opaque = True
            return
        key = (namespace, name)
        kind.writes[key] = max(int(version), kind.writes.get(key, 0))
        kind.deletions.pop(key, None)
        if len(kind.writes) > LONGEST_MEMORY:
            kind.floor = max(kind.floor, *kind.writes.values())
            kind.writes.clear()

    def note_deletion(
        self,
        gvk: GroupVersionKind,
        namespace: str,
        name: str,
        uid: str,
        *,
        is_final: bool,
        informer: KindInformer | None = None,
    ) -> None:
        """An object was deleted (``is_final``) or is being deleted."""
        kind = self._kind(gvk)
        kind.deletions[namespace, name] = _Deletion(uid, is_final)
        if len(kind.deletions) <= LONGEST_MEMORY:
            return
        if informer is None:
            # An informer that starts from now on lists what is left after these deletions.
            kind.deletions.clear()
            return
        self.is_list_fresh(informer, "")
        kind.is_opaque = len(kind.deletions) > LONGEST_MEMORY

    def note_unknown(self, gvk: GroupVersionKind) -> None:
        """Some objects of the kind were changed; which ones is unknown."""
        self._kind(gvk).is_opaque = True

    def object_if_fresh(self, informer: KindInformer, namespace: str, name: str) -> Object | None:
        """The cached object, unless the cache may be older than a write to it."""
        cached = informer.get(namespace, name)
        kind = self._kinds.get(_shared(informer.resource.gvk))
        if cached is None or kind is None:
            return cached
        key, seen = (namespace, name), number_of(informer.resource_version)
        if kind.is_opaque or seen < kind.floor or not _saw_deletion(kind, key, cached):
            return None
        written = kind.writes.get(key)
        if written is not None and seen < written:
            return cached if number_of(_version(cached)) >= written else None
        kind.writes.pop(key, None)
        return cached

    def is_list_fresh(self, informer: KindInformer, namespace: str) -> bool:
        """Whether the cached list of a namespace (all, if empty) contains every write."""
        kind = self._kinds.get(_shared(informer.resource.gvk))
        if kind is None:
            return True
        seen = number_of(informer.resource_version)
        if kind.is_opaque or seen < kind.floor:
            return False
        kind.writes = {key: version for key, version in kind.writes.items() if version > seen}
        for key in list(kind.deletions):
            _saw_deletion(kind, key, informer.get(*key))
        pending = (*kind.writes, *kind.deletions)
        return not any(not namespace or key[0] == namespace for key in pending)


def _shared(gvk: GroupVersionKind) -> tuple[str, str]:
    """What all versions of a kind share: they show the same objects."""
    return gvk.group, gvk.kind


def _saw_deletion(kind: _Kind, key: _Key, cached: Object | None) -> bool:
    """Whether the cache shows what a deletion left; forgets the deletion then."""
    deletion = kind.deletions.get(key)
    if deletion is None:
        return True
    if cached is not None:
        metadata = cached["metadata"]
        is_same = not deletion.uid or metadata.get("uid") == deletion.uid
        if is_same and (deletion.is_final or "deletionTimestamp" not in metadata):
            return False
    elif key in kind.writes:
        # Created and deleted before the informer saw it: its creation is still to arrive.
        return False
    del kind.deletions[key]
    return True


def _version(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))


def number_of(version: str) -> int:
    """A version as a number that is larger for newer ones; 0 for one that is no number."""
    return int(version) if version.isdecimal() else 0
