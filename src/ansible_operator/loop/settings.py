# SPDX-License-Identifier: Apache-2.0
"""Settings of a controller and its runs, from flags and environment."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.kube.names import is_name
from ansible_operator.logs import get_logger
from ansible_operator.watches import KindName, Watch

PERIOD_ANNOTATION = "ansible.sdk.operatorframework.io/reconcile-period"
ARTIFACTS_ANNOTATION = "ansible.sdk.operatorframework.io/max-runner-artifacts"
VERBOSITY_ANNOTATION = "ansible.sdk.operatorframework.io/verbosity"
MOST_ANNOTATED_ARTIFACTS = 100
"""Runs whose artifacts an object's annotation may have kept, unless its watch keeps more."""
_LONGEST_SHOWN = 100

_LOG = get_logger("ansible-controller")


class EventLogLevel(StrEnum):
    """Values of ``--ansible-log-events``."""

    NOTHING = "nothing"
    TASKS = "tasks"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """What is the same for all runs.

    Attributes:
        run_root: folder of the private data directories.
        cluster: what names the cluster whose objects are run: the API server's URL.
        command_line: value of ``--ansible-args``.
        inventory: value of ``ANSIBLE_INVENTORY``.
        gather_facts: whether plays generated for roles gather facts.
        log_level: value of ``--ansible-log-events``.
        raw_output: whether the environment requests plain output (``ANSIBLE_VERBOSITY`` > 0).
        debug_logs: whether to print the complete output of each run.
        annotated_verbosity: the most ``v`` that an object's annotation may ask for, unless all its
            runs have more.
        total_artifacts: how many runs' artifacts are kept, of all objects together.
    """

    run_root: Path
    cluster: str
    command_line: str = ""
    inventory: Path | None = None
    gather_facts: bool = True
    log_level: EventLogLevel = EventLogLevel.TASKS
    raw_output: bool = False
    debug_logs: bool = False
    annotated_verbosity: int = 2
    total_artifacts: int = 10_000


@dataclass(slots=True, kw_only=True, eq=False)
class Controlled:
    """One kind under control.

    Attributes:
        name: unique name, also in metrics.
        resource: what the API server calls the kind now: its scope and its plural change when its
            CRD is deleted and created again.
        period: seconds between periodic runs; 0 for none.
        verbosity: number of ``v`` of a run.
    """

    name: str
    watch: Watch
    resource: ResourceType
    period: float
    verbosity: int

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind."""
        return self.resource.gvk

    def redefine(self, resource: ResourceType) -> None:
        """Note what the kind is from now on."""
        self.resource = resource

    def can_have(self, namespace: str, name: str) -> bool:
        """Whether an object of the kind may have this name and namespace.

        Whoever writes an owner reference or an annotation chooses the text, which becomes a path on
        the API server and on the disk.
        """
        is_inside = is_name(namespace) if self.resource.namespaced else not namespace
        return is_inside and is_name(name)


BeforeRead: TypeAlias = Callable[[], Awaitable[str]]
"""Called before a play looks at objects of its own kind for the first time; answers the version
that its object has got by that, or ``""``."""

KubeconfigFor: TypeAlias = Callable[
    [Controlled, Object, BeforeRead | None], AbstractContextManager[Path]
]
"""Gives one run access to the API server on behalf of an object: a kubeconfig that is removed when
the context ends."""


def gvk_of(kind: KindName) -> GroupVersionKind:
    """The client's spelling of a kind in a watches file."""
    return GroupVersionKind(kind.group, kind.version, kind.kind)


def integer_annotation(annotations: Mapping[str, str], name: str) -> int | None:
    """The value of an annotation, or None when it is absent or not a number."""
    text = annotations.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        shown = text[:_LONGEST_SHOWN]
        _LOG.info("Annotation is not a number, ignored", annotation=name, value=shown)
        return None


def bounded_annotation(
    annotations: Mapping[str, str], name: str, lowest: int, highest: int
) -> int | None:
    """The value of an annotation, or the bound beyond which it lies; None as above.

    Whoever may annotate an object need not be trusted with the operator's log and its disk.
    """
    given = integer_annotation(annotations, name)
    if given is None or lowest <= given <= highest:
        return given
    used = min(max(given, lowest), highest)
    _LOG.info("Annotation is out of bounds", annotation=name, bounds=[lowest, highest], used=used)
    return used
