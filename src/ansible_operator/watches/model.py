# SPDX-License-Identifier: Apache-2.0
"""One entry of a watches file, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ansible_operator.watches.selector import Selector

DEFAULT_ARTIFACTS = 20
PROBE_SECONDS = 10.0


class DependentAnnotations(StrEnum):
    """Which changes of a dependent's annotations trigger a run, as in the watches file."""

    NONE = "false"
    OTHERS = "true"
    """All but those in which Kubernetes' own controllers keep their books."""
    ALL = "all"


class Isolation(StrEnum):
    """Which runs a process may serve."""

    RUN = "run"
    """One: what plugins and libraries keep in memory never reaches another run."""
    SHARED = "shared"
    """One after the other, of all watches that say so."""


class KindName(NamedTuple):
    """Group (``""`` for core), version and kind."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class PlayPath:
    """What to play: a playbook or a role, found on disk or not.

    Attributes:
        playbook: absolute path; wins when both are given.
        role: path of the role's directory, or the text as written when nothing was found.
        role_name: how to name the role in a play: its FQCN, or the directory's name.
    """

    playbook: str = ""
    role: str = ""
    role_name: str = ""

    @property
    def problem(self) -> str:
        """Why it cannot be played, in the words of the Go runner; ``""`` when it can."""
        if self.playbook:
            return "" if Path(self.playbook).exists() else self._missing("playbook", self.playbook)
        if self.role:
            found = Path(self.role).is_absolute() and Path(self.role).exists()
            return "" if found else self._missing("role", self.role)
        return "must specify Role or Playbook"

    def __bool__(self) -> bool:
        return bool(self.playbook or self.role)

    @staticmethod
    def _missing(what: str, name: str) -> str:
        return f"{what}: {name} was not found"


@dataclass(frozen=True, slots=True)
class Finalizer:
    """What to do before deletion; an empty play repeats the normal one.

    Attributes:
        run_timeout: seconds after which a run before deletion is ended, which may have to wait for
            more than others; 0 means that of the watch.
    """

    name: str
    play: PlayPath = field(default_factory=PlayPath)
    vars: Mapping[str, Any] = field(default_factory=dict)
    run_timeout: float = 0.0


@dataclass(frozen=True, slots=True)
class Reference:
    """Objects of a kind that an object names in its fields; their changes trigger a run.

    Attributes:
        name: dotted path of the field with the referenced object's name.
        namespace: dotted path of its namespace; ``""`` for the object's own.
        conditions: types of conditions that count. With none, every change triggers a run; with
            some, only a change of the spec, of one of these conditions, or the beginning of the
            deletion does.
        poll: seconds between two reads of the metadata of referenced objects; 0 to watch the kind.
    """

    kind: KindName
    name: str
    namespace: str = ""
    conditions: tuple[str, ...] = ()
    poll: float = 0.0


@dataclass(frozen=True, slots=True)
class Members:
    """Objects of a kind that name an object in a label; some of their changes trigger a run.

    Attributes:
        selector: labels that they have, as a label selector; empty for all objects of the kind.
        name: label with the name of the object, which is in their namespace; empty if they concern
            every object of the watch's kind there.
        annotations: annotations whose change counts.
        labels: labels whose change counts.
        spec: whether creation, deletion and a change of the spec count.
    """

    kind: KindName
    selector: str
    name: str
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    spec: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """Delays after failures, in seconds: the first, doubled each time up to the longest."""

    first: float = 0.005
    longest: float = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Functions that the webhook calls before an object of the kind is stored.

    Attributes:
        default: names of filter plugins that fill in what an object leaves out, in this order.
        validate: names of filter plugins that return what is wrong with an object.
        operations: which of CREATE, UPDATE, DELETE they review.
        subresources: what they review beside the object itself, such as ``scale``.
        failure_policy: what the API server does without an answer; ``""`` means the flag's value.
    """

    default: tuple[str, ...] = ()
    validate: tuple[str, ...] = ()
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    subresources: tuple[str, ...] = ()
    failure_policy: str = ""

    def __bool__(self) -> bool:
        return bool(self.default or self.validate)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that is asked about every object again and again; a "no" leads to a run.

    Attributes:
        test: full name of the test plugin that is asked; ``""`` for no probe.
        period: seconds between two questions about an object.
    """

    test: str = ""
    period: float = PROBE_SECONDS

    def __bool__(self) -> bool:
        return bool(self.test) and self.period > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One entry of a watches file.

    Attributes:
        reconcile_period: seconds between periodic runs; 0 means the flag's value.
        selector: None or empty selects every object.
        ignored_namespaces: namespaces whose objects are left alone.
        report_last_run: whether ``status.lastRun`` is written with the conditions.
        watch_dependent_annotations: which annotation-only changes of dependents trigger a run.
        all_namespaces_only: whether the entry is left out when ``WATCH_NAMESPACE`` restricts the
            operator, which then may lack the right to a cluster-scoped kind.
        watch_dependent_status: whether status-only changes of dependents trigger a run.
        max_concurrent_reconciles: runs at the same time; 0 means the flag's value.
        trigger_variable: whether plays have the variable ``ansible_operator_trigger``.
        condition_metrics: types of conditions of the objects that are shown as metrics.
        keep_managed_fields: whether the variable with the whole object has ``managedFields``; they
            are more than half of many objects, and every task pays for them.
        run_timeout: seconds after which a run is ended; 0 means no limit.
        admission: filter plugins that default and validate objects; false when there are none.
        precheck: full name of the test plugin that finds out if a run would change nothing; ``""``
            when every reconcile is a run.
        probe: what is asked about every object between its runs; false when there is none.
        isolation: whether the processes of its runs serve other runs.
        unknown_keys: keys of the entry that mean nothing here.
    """

    kind: KindName
    play: PlayPath
    vars: Mapping[str, Any] = field(default_factory=dict)
    max_runner_artifacts: int = DEFAULT_ARTIFACTS
    reconcile_period: float = 0.0
    finalizer: Finalizer | None = None
    manage_status: bool = True
    report_last_run: bool = False
    watch_dependent_resources: bool = True
    watch_cluster_scoped_resources: bool = False
    all_namespaces_only: bool = False
    snake_case_parameters: bool = True
    watch_annotations_changes: bool = False
    mark_unsafe: bool = True
    blacklist: frozenset[KindName] = frozenset()
    selector: Selector | None = None
    ignored_namespaces: frozenset[str] = frozenset()
    watch_dependent_annotations: DependentAnnotations = DependentAnnotations.ALL
    watch_dependent_status: bool = False
    trigger_variable: bool = False
    condition_metrics: tuple[str, ...] = ()
    keep_managed_fields: bool = True
    references: tuple[Reference, ...] = ()
    members: tuple[Members, ...] = ()
    max_concurrent_reconciles: int = 0
    run_timeout: float = 0.0
    retry: Retry = field(default_factory=Retry)
    admission: Admission = field(default_factory=Admission)
    precheck: str = ""
    probe: Probe = field(default_factory=Probe)
    isolation: Isolation = Isolation.RUN
    unknown_keys: tuple[str, ...] = ()

    def selects(self, metadata: Mapping[str, Any]) -> bool:
        """Whether an object is to be run, by its labels and its namespace."""
        if metadata.get("namespace", "") in self.ignored_namespaces:
            return False
        return self.selector is None or self.selector.matches(metadata.get("labels") or {})

    @property
    def controller_name(self) -> str:
        """Name in metrics and logs: ``<kind>-<version>-controller``."""
        return f"{self.kind.kind}-{self.kind.version}-controller".lower()
