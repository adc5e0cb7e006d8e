# SPDX-License-Identifier: Apache-2.0
"""What a cluster consists of that the Go operator has made, as far as its adoption depends on it.

Names, labels and claims of the Pods are those that our StatefulSets and Deployments have, so what
differs is who runs them: a workload of OpenKruise (`Workload`), which a set names as its owner.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ..api import names

STATEFUL: Final = (names.LOG_SET, names.DN_SET)
"""Kinds whose Pods go on under our StatefulSet; those of others are replaced by new ones."""
ORDER: Final = (names.LOG_SET, names.DN_SET, names.CN_SET, names.PROXY_SET)
"""Kinds in the order in which they are taken over: what others depend on comes first."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An entry of ``metadata.ownerReferences``.

    Attributes:
        kind: of the owner.
        name: of the owner.
        uid: of the owner.
        kruise: whether it is a workload of OpenKruise.
        controller: whether it is the one that runs the object.
    """

    kind: str
    name: str
    uid: str
    kruise: bool = False
    controller: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """A Pod with the labels of a set.

    Attributes:
        name: of the Pod.
        uid: of the Pod.
        ready: whether it serves; one that is being deleted does not.
        owner: the controller of the Pod; None without one.
        image: of its main container.
        finalizers: those that only the Go operator would remove.
        claims: names of the PersistentVolumeClaims that it mounts.
        left_behind: whether a CloneSet has created it that is no more.
        as_root: whether its files may belong to root: nothing says that it runs as somebody else.
    """

    name: str
    uid: str
    ready: bool = True
    owner: Owner | None = None
    image: str = ""
    finalizers: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    left_behind: bool = False
    as_root: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim that was made for a Pod of a set.

    Attributes:
        name: of the claim.
        uid: of the claim.
        bound: whether it has its volume and is not being deleted.
        owners: with whom the garbage collector would delete it.
        regrouped: whether Kubernetes gives the files of its volume to the group of a new Pod.
    """

    name: str
    uid: str
    bound: bool = True
    owners: tuple[Owner, ...] = ()
    regrouped: bool = True


@dataclass(frozen=True, slots=True)
class Workload:
    """What runs the Pods of a set.

    Attributes:
        api_version: tells ours from those of OpenKruise.
        kind: StatefulSet, CloneSet or Deployment.
        name: of the workload.
        uid: of the workload.
        replicas: how many Pods it should have.
        owner_uid: uid of its controller; empty without one.
        reserved: ordinals that an Advanced StatefulSet leaves out.
        keeps_claims: whether claims stay when it is deleted or gets smaller.
        settled: its controller has brought it to its latest template and size.
        is_deleted: whether it is being deleted.
    """

    api_version: str
    kind: str
    name: str
    uid: str
    replicas: int
    owner_uid: str = ""
    reserved: tuple[int, ...] = ()
    keeps_claims: bool = True
    settled: bool = True
    is_deleted: bool = False

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Set:
    """A LogSet, DNSet, CNSet or ProxySet of the cluster.

    Attributes:
        kind: of the set.
        name: of the set.
        uid: of the set.
        replicas: what its spec asks for; None where others decide on that.
        image: what its spec asks for.
        as_root: its spec lets the new Pods run as root.
        in_folder: the database keeps its data in a folder that its Pods share, not in a bucket.
        foreign: the workload of OpenKruise; None without one.
        own: our workload; None without one.
        pods: those with its labels that no pool has.
        claims: those that were made for its Pods, one for each template and Pod.
        policy: uid of the NetworkPolicy that we have made for its Pods; empty without one.
        held: our operator reports that it leaves the set alone until it is adopted.
        serves: our operator reports that the set serves as its spec asks for.
        paused: whether an annotation keeps operators away; ours, with the value of `PAUSED`.
        paused_by_us: whether that annotation was set when the cluster was given back.
        is_deleted: whether it is being deleted.
        adoption: what is on record about it; empty before it is handed over.
        replaced: whether log stores have been replaced since, of which the Go operator knows
            nothing.
    """

    kind: str
    name: str
    uid: str
    replicas: int | None
    image: str = ""
    as_root: bool = False
    in_folder: bool = False
    foreign: Workload | None = None
    own: Workload | None = None
    pods: tuple[Pod, ...] = ()
    claims: tuple[Claim, ...] = ()
    policy: str = ""
    held: bool = False
    serves: bool = False
    paused: bool = False
    paused_by_us: bool = False
    is_deleted: bool = False
    adoption: str = ""
    replaced: bool = False

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"{self.kind} {self.name}"

    @property
    def base(self) -> str:
        """The name of its workload."""
        return names.base_name(self.kind, self.name)

    @property
    def stateful(self) -> bool:
        """Whether its Pods go on under our workload."""
        return self.kind in STATEFUL


@dataclass(frozen=True, slots=True)
class Bucket:
    """A BucketClaim that a LogSet of the cluster holds.

    Attributes:
        name: of the claim.
        expected: the name that ours has for this LogSet.
    """

    name: str
    expected: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """A MatrixOneCluster and what it consists of.

    Attributes:
        namespace: of the cluster.
        name: of the cluster.
        exists: whether there is such a resource.
        is_deleted: whether it is being deleted.
        paused: whether an annotation keeps operators away from it.
        paused_by_us: whether that was set when the cluster was given back.
        sets: LogSet, DNSet, CNSets, ProxySet, as far as they exist.
        operators: where a Go operator runs or holds its lease.
        webhooks: configurations of webhooks that lead to it.
        pools: CNPools of the namespace whose Pods OpenKruise runs.
        buckets: claims on the path of its data.
    """

    namespace: str
    name: str
    exists: bool = True
    is_deleted: bool = False
    paused: bool = False
    paused_by_us: bool = False
    sets: tuple[Set, ...] = ()
    operators: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    buckets: tuple[Bucket, ...] = field(default=())
