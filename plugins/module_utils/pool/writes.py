# SPDX-License-Identifier: Apache-2.0
"""What a pass writes, as data.

All writes of one plan concern different objects, and none depends on another: whoever executes them
may do so at the same time, then puts the answers into the snapshot and plans again, until nothing
is left to write. Conflicts and failures are therefore no errors: the write is dropped, and the next
plan starts from what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Union

from ..clients.matrixone.records import Labels, WorkState

SECONDS_OF_STORE_WRITES: Final = 10.0
"""Shorter than the time that a Pod drains before another claim may have it."""


@dataclass(frozen=True, slots=True)
class PodWrite:
    """Change labels and annotations of a Pod, if it still has this uid and resourceVersion.

    This is the only way in which a Pod changes its phase or its claim.

    Attributes:
        labels, annotations: what changes; None removes one.
        why: for a log or an Event.
        reason: word for an Event; empty for none.
    """

    name: str
    uid: str
    version: str
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    why: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Set the condition ``matrixorigin.io/cn-store`` of a Pod to True."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """Ask the transaction node whether the locks of a Pod's store are handed over.

    Attributes:
        pod: name of the Pod.
        begins: ask for that, too, if they are still held; only once for a process.
    """

    pod: str
    begins: bool


@dataclass(frozen=True, slots=True)
class PodDelete:
    """Delete a Pod with uid and resourceVersion as preconditions."""

    name: str
    uid: str
    version: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PodCreate:
    """Create Pods (``generateName: <generation>-``) from the template of a generation.

    The executor stops at the first failure, and lists Pods again before it plans the next ones.
    """

    generation: str
    count: int


@dataclass(frozen=True, slots=True)
class StoreWrite:
    """Set work state and all labels of a store in HAKeeper.

    Labels of None stay as they are: those of a store whose Pod is still bound are only removed when
    the Pod is Draining, lest a call that comes late takes them from a store that works again. An
    empty set of labels is set by UpdateCNLabel, since PatchCNStore keeps the old ones then: for
    Draining after the state, for Working before it, so that no store works with labels of others.
    It must not be sent later than `SECONDS_OF_STORE_WRITES` after the facts were read: the Pod may
    have another claim by then. If HAKeeper does not know the store, ``known`` is False from now on;
    if it does not answer, ``reached`` is.
    """

    pod: str
    state: WorkState
    labels: Labels | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ClaimWrite:
    """Merge-patch ``spec`` and labels of a claim, if it still has this resourceVersion.

    Attributes:
        spec: merge patch of ``spec``: None removes a field.
        labels: merge patch of ``metadata.labels``.
        owner_references: these instead of those it has; None to leave them.
    """

    name: str
    uid: str
    version: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str | None] = field(default_factory=dict)
    owner_references: tuple[Mapping[str, Any], ...] | None = None
    why: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClaimStatus:
    """Replace the status of a claim, if it still has this resourceVersion.

    It is whole, with the times of its conditions.
    """

    name: str
    uid: str
    version: str
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClaimCreate:
    """Create a claim. That its name is taken is no error: a cache had not shown it."""

    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return its name."""
        return str(self.manifest["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class ClaimDelete:
    """Delete a claim with uid and resourceVersion as preconditions."""

    name: str
    uid: str
    version: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class GenerationDelete:
    """Delete a CNSet of the pool, which has no Pods left."""

    name: str


Write = Union[
    PodWrite,
    OpenGate,
    PodDelete,
    PodCreate,
    StoreWrite,
    ClaimWrite,
    ClaimStatus,
    ClaimCreate,
    ClaimDelete,
    GenerationDelete,
]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a claim has no Pod.

    Attributes:
        reason: one word, see `PoolReason`.
        message: for a human.
    """

    claim: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What one round of a pool's pass does.

    Attributes:
        writes: see this module; empty when nothing is left to do.
        wants_fresh: there is more to do, but not by what a cache shows: list Pods and claims from
            the API server and plan again.
        sample: Pods whose sessions, pipelines and replicas are to be asked for; then plan again.
        hand_over: Pods whose locks are to be asked for; then plan again.
        waiting: claims without a Pod, in the order in which they are served.
        requeue: seconds after which time alone changes something; None for never.
        limited: why there are fewer Pods than there should be; empty if there are not.
        finished: the pool is being deleted, and nothing of it is left.
    """

    writes: tuple[Write, ...] = ()
    wants_fresh: bool = False
    sample: tuple[str, ...] = ()
    hand_over: tuple[HandOver, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    requeue: float | None = None
    limited: str = ""
    finished: bool = False


@dataclass(frozen=True, slots=True)
class ClaimSetPlan:
    """What one pass of a claim set does.

    Attributes:
        writes: creations, deletions and adoptions of claims.
        wants_fresh: as for a pool.
        status: ``status.replicas`` and so on.
        finished: the claim set is being deleted, and no claim of it is left.
    """

    writes: tuple[Write, ...] = ()
    wants_fresh: bool = False
    status: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = False
