# SPDX-License-Identifier: Apache-2.0
"""The Leases by which processes share objects: one for each process, and one for each shard.

Only the Lease of a process is renewed. A shard belongs to the holder that its own Lease names, for
as long as the Lease of that process exists. Whoever sees that a process has not renewed for as long
as it promised deletes its Lease, in just the version that was seen: from then on that process
cannot renew any more, and its shards are free. An identity is never used twice.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.errors import KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import Object
from ansible_operator.kube.lease import now_text
from ansible_operator.kube.names import api_path
from ansible_operator.logs import get_logger

ELECTION_LABEL = "ansible-operator/election"
"""Value: the election's name; on the Leases of its processes and shards."""
PART_LABEL = "ansible-operator/election-part"
"""Value: :data:`MEMBER` or :data:`SHARD`."""
LEAVING_LABEL = "ansible-operator/leaving"
"""On the Lease of a process that ends."""
MEMBER, SHARD = "member", "shard"

_LOG = get_logger("shards")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the Leases say.

    Attributes:
        members: the Lease of each process that has one, by identity.
        shards: the Lease of each shard that has one, by its number.
    """

    members: Mapping[str, Object]
    shards: Mapping[int, Object]

    @property
    def staying(self) -> frozenset[str]:
        """The processes that do not end."""
        return frozenset(name for name, lease in self.members.items() if not _is_leaving(lease))

    @property
    def holders(self) -> dict[int, str]:
        """Which process has which shard."""
        named = {number: holder_of(lease) for number, lease in self.shards.items()}
        return {number: holder for number, holder in named.items() if holder in self.members}


@dataclass(slots=True)
class Silence:
    """Finds out which processes have not renewed for as long as they promised.

    Measured by this process's own clock from the moment at which it saw their last renewal.
    """

    clock: Callable[[], float] = time.monotonic
    _renewals: dict[str, tuple[str, float]] = field(default_factory=dict)

    def of(self, members: Mapping[str, Object], duration: float) -> list[str]:
        """Identities of the processes that are silent; to be asked at every look.

        Args:
            members: their Leases.
            duration: seconds that a Lease without a duration of its own lasts.
        """
        now = self.clock()
        known = self._renewals
        self._renewals = {}
        for member, lease in members.items():
            version = str(lease["metadata"].get("resourceVersion", ""))
            before = known.get(member)
            is_same = before is not None and before[0] == version
            self._renewals[member] = before if before and is_same else (version, now)
        return [
            member
            for member, lease in members.items()
            if now >= self._renewals[member][1] + _duration(lease, duration)
        ]


def holder_of(lease: Object) -> str:
    """The process that a Lease names; ``""`` for none."""
    holder = (lease.get("spec") or {}).get("holderIdentity")
    return holder if isinstance(holder, str) else ""


def _is_leaving(lease: Object) -> bool:
    return LEAVING_LABEL in (lease["metadata"].get("labels") or {})


def _duration(lease: Object, default: float) -> float:
    promised = (lease.get("spec") or {}).get("leaseDurationSeconds")
    return float(promised) if isinstance(promised, int) and promised > 0 else default


@dataclass(frozen=True, slots=True)
class ShardLeases:
    """Reads and writes the Leases of one election.

    Attributes:
        client: session to the API server.
        namespace: where the Leases are.
        name: of the election.
        count: of all shards.
    """

    client: HttpClient
    namespace: str
    name: str
    count: int

    def labels(self, part: str) -> dict[str, str]:
        """The labels of the Leases of a part."""
        return {ELECTION_LABEL: self.name, PART_LABEL: part}

    async def look(self) -> Seen:
        """Read all Leases.

        Raises:
            KubeError: they could not be read.
        """
        path = f"{self._path()}?labelSelector={ELECTION_LABEL.replace('/', '%2F')}%3D{self.name}"
        answer = await self.client.request("GET", path)
        members: dict[str, Object] = {}
        shards: dict[int, Object] = {}
        for lease in answer.get("items") or ():
            part = (lease["metadata"].get("labels") or {}).get(PART_LABEL)
            if part == MEMBER and holder_of(lease):
                members[holder_of(lease)] = lease
            elif part == SHARD and (number := self._number(lease)) is not None:
                shards[number] = lease
        return Seen(members, shards)

    async def take(self, number: int, lease: Object | None, member: str) -> bool:
        """Make a process the holder of a shard that nobody has; False if another was faster.

        Args:
            number: of the shard.
            lease: that of the shard as it was seen; None for one that does not exist yet.
            member: the process.

        Raises:
            KubeError: it is not known whether it is the holder now.
        """
        return await self._write(number, lease, member)

    async def give(self, number: int, lease: Object) -> bool:
        """Leave a shard to whoever wants it; False if the Lease has changed meanwhile.

        Raises:
            KubeError: it is not known whether it is free now.
        """
        return await self._write(number, lease, "")

    async def expel(self, lease: Object) -> bool:
        """Delete the Lease of a process that is silent; False if it has renewed meanwhile.

        Raises:
            KubeError: it is not known whether the Lease exists.
        """
        metadata = lease["metadata"]
        version = {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
        try:
            await self._delete(metadata["name"], version)
        except KubeError as error:
            if error.is_conflict:
                return False
            if not error.is_not_found:
                raise
        return True

    async def tell_leaving(self, lease: Object) -> None:
        """Have the others share the shards of a process that ends, while its last runs end.

        Raises:
            KubeError: it is not known whether they will.
        """
        if _is_leaving(lease):
            return
        path = self._path(lease["metadata"]["name"])
        body = {"metadata": {"uid": lease["metadata"]["uid"], "labels": {LEAVING_LABEL: "true"}}}
        await self.client.request_object(
            "PATCH", path, body=body, content_type="application/merge-patch+json"
        )

    async def _write(self, number: int, lease: Object | None, holder: str) -> bool:
        now = now_text()
        before: Mapping[str, Any] = (lease or {}).get("spec") or {}
        moves = int(before.get("leaseTransitions") or 0) + int(lease is not None and bool(holder))
        body: dict[str, Any] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": f"{self.name}-shard-{number}",
                "namespace": self.namespace,
                "labels": self.labels(SHARD),
            },
            "spec": {"holderIdentity": holder, "acquireTime": now, "leaseTransitions": moves},
        }
        try:
            if lease is None:
                await self.client.request_object("POST", self._path(), body=body)
            else:
                body["metadata"] = lease["metadata"]
                path = self._path(lease["metadata"]["name"])
                await self.client.request_object("PUT", path, body=body)
        except KubeError as error:
            if error.is_conflict or error.is_not_found:
                return False
            raise
        return True

    async def _delete(self, name: str, version: Mapping[str, Any]) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": version}
        await self.client.request("DELETE", self._path(name), body=body)

    def _number(self, lease: Object) -> int | None:
        prefix, _, text = str(lease["metadata"]["name"]).rpartition("-")
        if prefix != f"{self.name}-shard" or not text.isdecimal():
            return None
        return int(text) if int(text) < self.count else None

    def _path(self, *name: str) -> str:
        root = ("apis", "coordination.k8s.io", "v1", "namespaces", self.namespace, "leases")
        return api_path(*root, *name)
