# SPDX-License-Identifier: Apache-2.0
"""Types that the proxy and its callers share; the manager connects them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ansible_operator.kube.interface import GroupVersionKind, ResourceType


@dataclass(frozen=True, slots=True)
class Owner:
    """The object on whose behalf a run talks to the API server.

    Attributes:
        resource_version: the object's version when the run began, if known: the run never reads
            an older one.
    """

    gvk: GroupVersionKind
    name: str
    namespace: str
    uid: str
    namespaced: bool = True
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """What a watch configures for the objects that its plays create.

    Attributes:
        inject_owner: whether creates get an owner reference or annotations.
        blacklist: kinds neither cached nor watched for this owner.
    """

    inject_owner: bool = True
    blacklist: frozenset[GroupVersionKind] = frozenset()


@dataclass(frozen=True, slots=True)
class Session:
    """One run's access to the proxy.

    Attributes:
        kubeconfig: the file (0600) to hand to the run.
    """

    kubeconfig: Path
    token: str


BeforeRead: TypeAlias = Callable[[], Awaitable[str]]
"""Called before a run's first request for objects of its owner's kind; answers the version that the
owner has got by that, or ``""``."""

DependentAdded: TypeAlias = Callable[[Owner, ResourceType, bool], Awaitable[None]]
"""Called before a create is forwarded: watch this kind for this owner's kind; the last argument
says whether ownership is by annotation. Raises KubeError when the watch cannot be set up."""


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """A change that a run made through the proxy, as the API server confirmed it.

    Attributes:
        resource: kind of the object.
        uid: the object's uid; ``""`` when the answer did not contain it.
        resource_version: the version that the write led to; ``""`` for deletions without one.
    """

    resource: ResourceType
    namespace: str
    name: str
    uid: str
    resource_version: str


WriteSeen: TypeAlias = Callable[[Owner, OwnWrite], None]
"""Called after each successful write of a run (dry runs excepted), before the play gets its
answer, so that the loop can distinguish the run's own changes from those of others."""
