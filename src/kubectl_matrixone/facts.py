# SPDX-License-Identifier: Apache-2.0
"""What a user wants to know of a cluster, read from its objects."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be.

    Attributes:
        what: the condition, with its object.
        reason: in one word.
        message: in a sentence.
        since: when it began; None if that is not told.
    """

    what: str
    reason: str
    message: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """A LogSet, DNSet, CNSet, ProxySet or WebUI.

    Attributes:
        kind: of the set.
        name: of the set.
        pods: ready and desired ones, as ``2/3``.
        version: that runs, the lowest one during an update.
        phase: summary of its conditions.
        message: what is awaited; may be empty.
    """

    kind: str
    name: str
    pods: str
    version: str
    phase: str
    message: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A Pod of the cluster.

    Attributes:
        name: of the Pod.
        part: its set, as ``Kind/name``.
        ready: whether it serves.
        state: the phase, or what keeps its container from running; for a compute node, the work
            state of its store in HAKeeper.
        restarts: of its containers.
        started: when it was created.
        node: where it runs.
    """

    name: str
    part: str
    ready: bool
    state: str
    restarts: int
    started: datetime | None
    node: str


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolumeClaim.

    Attributes:
        name: of the claim.
        size: that it has, or asks for while it is not bound.
        phase: ``Bound``, or why there is no volume.
    """

    name: str
    size: str
    phase: str


@dataclass(frozen=True, slots=True)
class Shard:
    """A log shard; 0 is that of HAKeeper."""

    number: int
    available: int
    replicas: int


@dataclass(frozen=True, slots=True)
class Backup:
    """The newest Backup of the cluster.

    Attributes:
        name: of the Backup.
        moment: up to which it holds the data.
        phase: Available, Broken or Pending.
        proven: result of the last restore of it into a throw-away database; empty if there was
            none.
        proven_at: when that was known.
    """

    name: str
    moment: datetime | None
    phase: str
    proven: str
    proven_at: datetime | None


@dataclass(frozen=True, slots=True)
class Proof:
    """What the last restore of a Backup into a throw-away database came to.

    Attributes:
        result: Passed, Failed or Incomplete.
        at: when that was known.
        message: why it did not pass; may be empty.
    """

    result: str
    at: datetime | None
    message: str


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """A Backup in a list.

    Attributes:
        name: of the Backup.
        source: what was backed up, as ``matrixonecluster/<namespace>/<name>``.
        moment: up to which it holds the data.
        size: of its own objects; ``?`` if that is not known.
        type: full or incremental.
        phase: Available, Broken, Pending or Deleting; Unknown if it has no status.
        proof: None if it was never restored.
        problem: what is wrong; may be empty.
    """

    name: str
    source: str
    moment: datetime | None
    size: str
    type: str
    phase: str
    proof: Proof | None
    problem: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What clients of SQL see."""

    secret: str
    expires: datetime | None


@dataclass(frozen=True, slots=True)
class Check:
    """A check before an upgrade."""

    name: str
    result: str
    message: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The last upgrade to another release.

    Attributes:
        before: version of before.
        to: version that is asked for.
        phase: Held, Updating, UpgradingCatalog, Completed or Canceled.
        point_of_no_return: Ahead or Passed.
        message: what is awaited.
        checks: with their results.
    """

    before: str
    to: str
    phase: str
    point_of_no_return: str
    message: str
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A MatrixOneCluster and what belongs to it.

    Attributes:
        namespace: where it is.
        name: of the cluster.
        phase: summary of its conditions.
        ready: whether it serves: True, False or Unknown.
        version: that runs.
        wanted: that is asked for.
        address: ``host:port`` for clients inside of Kubernetes; empty while there is none.
        credential: Secret of the root user.
        storage: where the data are.
        problems: what is not as it should be, and what is awaited.
        components: in the order of MatrixOne.
        pods: of all of them.
        shards: of the log service; empty while that is not known.
        volumes: of all Pods.
        backup: the newest one; None without any, or if that is not known.
        certificate: None without TLS.
        upgrade: the last one; None if there never was one.
        binding: Secret from which applications read how to connect; empty without one.
        unread: what could not be read, so that it is not known.
    """

    namespace: str
    name: str
    phase: str
    ready: str
    version: str
    wanted: str
    address: str
    credential: str
    storage: str
    problems: tuple[Problem, ...] = ()
    components: tuple[Component, ...] = ()
    pods: tuple[Pod, ...] = ()
    shards: tuple[Shard, ...] = ()
    volumes: tuple[Volume, ...] = ()
    backup: Backup | None = None
    certificate: Certificate | None = None
    upgrade: Upgrade | None = None
    binding: str = ""
    unread: tuple[str, ...] = field(default=())
