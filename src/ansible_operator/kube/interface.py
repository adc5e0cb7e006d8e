# SPDX-License-Identifier: Apache-2.0
"""Objects and kinds of Kubernetes, as all packages of the runner pass them on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from ansible_operator.kube.names import api_path

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object as decoded JSON, in Kubernetes' own spelling."""


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """Group (``""`` for core), version and kind of an object."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """``group/version``, or ``version`` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A served kind as discovery describes it."""

    gvk: GroupVersionKind
    plural: str
    namespaced: bool
    verbs: frozenset[str] = field(default_factory=frozenset)

    @property
    def is_virtual(self) -> bool:
        """Whether objects of the kind cannot be read back (``SelfSubjectAccessReview``, ...)."""
        return not {"get", "list", "watch"} <= self.verbs

    def path(self, name: str = "", namespace: str = "", subresource: str = "") -> str:
        """The URL path of one object, of a namespace's list or of the whole list.

        Raises:
            InvalidNameError: no object can have this name, or this namespace.
        """
        root = ("apis", self.gvk.group) if self.gvk.group else ("api",)
        inside = ("namespaces", namespace) if self.namespaced and namespace else ()
        rest = [part for part in (self.plural, name, subresource) if part]
        return api_path(*root, self.gvk.version, *inside, *rest)


class EventType(StrEnum):
    """What happened to an object, as informers report it."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


InformerHandler: TypeAlias = Callable[[EventType, Object | None, Object], None]
"""Called with the type, the object before (None when new) and the object now (last known when
deleted). It must not block and must not change the objects."""
