# SPDX-License-Identifier: Apache-2.0
"""Loads and validates a watches file."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_operator.errors import ConfigError
from ansible_operator.logs import get_logger
from ansible_operator.watches.document import parse
from ansible_operator.watches.durations import InvalidDuration, parse_duration
from ansible_operator.watches.environment import expand
from ansible_operator.watches.fields import Fields
from ansible_operator.watches.model import (
    DEFAULT_ARTIFACTS,
    PROBE_SECONDS,
    Admission,
    DependentAnnotations,
    Finalizer,
    Isolation,
    KindName,
    Members,
    PlayPath,
    Probe,
    Reference,
    Retry,
    Watch,
)
from ansible_operator.watches.paths import resolve
from ansible_operator.watches.selector import Requirement, Selector

OPERATIONS = ("CREATE", "UPDATE", "DELETE")
FAILURE_POLICIES = ("Ignore", "Fail")
_PLUGIN = re.compile(r"\w+\.\w+\.\w+")
_SHORTEST_POLL = 1.0
_LARGEST = 1 << 20
"""Bytes of a watches file: as many as a ConfigMap can have. YAML takes a minute for some more."""
_LONGEST_MESSAGE = 1000
_LOG = get_logger("watches")


class WatchesError(ConfigError):
    """A watches file that cannot be used.

    Attributes:
        problem: what is wrong, without the name of the file.
        entry: number of the entry that it is wrong with, from 1; 0 for the file as a whole.
    """

    def __init__(self, place: str, entry: int, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.problem = problem
        self.entry = entry


def load(
    path: Path,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    strict: bool = False,
) -> list[Watch]:
    """Read a watches file.

    Args:
        path: the file.
        environ: variables for the expansion and the search paths; the process environment if None.
        cwd: folder that relative paths start from; the working directory if None.
        strict: refuse unknown keys and variables that are not set; ``$$`` is a dollar sign.

    Raises:
        WatchesError: the file cannot be used; the first problem found.
    """
    env = os.environ if environ is None else environ
    with _about(f"watches file {path}"):
        entries = parse(expand(_read(path), env, strict=strict))
    watches: list[Watch] = []
    seen: set[KindName] = set()
    for number, entry in enumerate(entries, 1):
        with _about(f"watches file {path}: {_entry(number, entry)}", number):
            watch = _watch(Fields(entry, "alias"), cwd or Path.cwd(), env)
            watches.append(watch)
            try:
                _validate(watch, seen, strict=strict)
            except ConfigError:
                _LOG.error(f"Watch with GVK {watch.kind} failed validation")
                raise
        if watch.unknown_keys:
            _LOG.warning("Unknown keys are ignored", gvk=str(watch.kind), keys=watch.unknown_keys)
    return watches


def _read(path: Path) -> str:
    """Return the text of a watches file.

    Raises:
        ConfigError: it cannot be read, is larger than any that is of use, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        _LOG.error("Failed to get config file", path=str(path), error=str(error))
        raise ConfigError(f"it cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise ConfigError(f"it cannot be read: it is larger than {_LARGEST >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError("it cannot be read: it is not UTF-8") from error


@contextmanager
def _about(what: str, entry: int = 0) -> Iterator[None]:
    """Let errors say what they are about, and quote no more than fits in a line of a log.

    Raises:
        WatchesError: as inside.
    """
    try:
        yield
    except ConfigError as error:
        text = str(error)
        text = text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
        raise WatchesError(what, entry, text) from error


def _entry(number: int, entry: Mapping[str, Any]) -> str:
    """Name an entry: by its place, and by its kind if it has one."""
    kind = entry.get("kind")
    return f"entry {number} ({kind[:100]})" if isinstance(kind, str) else f"entry {number}"


def _watch(fields: Fields, cwd: Path, env: Mapping[str, str]) -> Watch:
    play = _play(fields, cwd, env)
    finalizer = fields.optional("finalizer", "Finalizer")
    selector = fields.optional("selector", "LabelSelector")
    retry = fields.optional("retry", "Retry")
    probe = fields.optional("probe", "Probe")
    period = _period(fields, env)
    manage_status = fields.flag("manageStatus", default=True)
    kind = _kind(fields)
    for value, name in ((kind.version, "version"), (kind.kind, "kind")):
        if not value:
            raise ConfigError(f"invalid GVK: {kind}: {name} must not be empty")
    return Watch(
        kind=kind,
        play=play,
        vars=fields.mapping("vars"),
        max_runner_artifacts=fields.integer("maxRunnerArtifacts", 0) or DEFAULT_ARTIFACTS,
        reconcile_period=period,
        finalizer=_finalizer(finalizer, cwd, env) if finalizer else None,
        manage_status=manage_status,
        report_last_run=_reports_last_run(fields, manage_status=manage_status),
        watch_dependent_resources=fields.flag("watchDependentResources", default=True),
        watch_cluster_scoped_resources=fields.flag("watchClusterScopedResources", default=False),
        all_namespaces_only=fields.flag("allNamespacesOnly", default=False),
        snake_case_parameters=fields.flag("snakeCaseParameters", default=True),
        watch_annotations_changes=fields.flag("watchAnnotationsChanges", default=False),
        mark_unsafe=fields.flag("markUnsafe", default=True),
        blacklist=frozenset(_kind(item) for item in fields.nested("blacklist", "GroupVersionKind")),
        selector=_selector(selector) if selector else None,
        ignored_namespaces=_names(env.get(fields.text("ignoreNamespacesVariable"), "")),
        watch_dependent_annotations=_annotations(fields),
        watch_dependent_status=fields.flag("watchDependentStatus", default=False),
        trigger_variable=fields.flag("triggerVariable", default=False),
        condition_metrics=fields.texts("conditionMetrics"),
        keep_managed_fields=fields.flag("keepManagedFields", default=True),
        references=tuple(_reference(item) for item in fields.nested("references", "Reference")),
        members=tuple(_members(item) for item in fields.nested("members", "Members")),
        max_concurrent_reconciles=max(0, fields.integer("maxConcurrentReconciles", 0)),
        run_timeout=_run_timeout(fields, "runTimeout"),
        retry=_retry(retry) if retry else Retry(),
        admission=_admission(fields.texts_or_fields("admission", "Admission")),
        precheck=_plugin("precheck", fields.text("precheck")),
        probe=_probe(probe, env) if probe else Probe(),
        isolation=_isolation(fields.text("isolation")),
        unknown_keys=fields.leftover(),
    )


def _reports_last_run(fields: Fields, *, manage_status: bool) -> bool:
    """Whether ``status.lastRun`` is written; it may not be where the runner leaves the status."""
    is_asked = fields.flag("reportLastRun", default=False)
    if is_asked and not manage_status:
        raise ConfigError("reportLastRun requires manageStatus, which is false")
    return is_asked


def _annotations(fields: Fields) -> DependentAnnotations:
    value = fields.flag_or("watchDependentAnnotations", DependentAnnotations.ALL)
    return DependentAnnotations(str(value).lower())


def _period(fields: Fields, env: Mapping[str, str]) -> float:
    """The period of the entry, or that of the environment variable which it names."""
    period, variable = fields.seconds("reconcilePeriod"), fields.text("reconcilePeriodVariable")
    return _from_environment(variable, period, env)


def _from_environment(variable: str, period: float, env: Mapping[str, str]) -> float:
    given = env.get(variable, "")
    if not given:
        return period
    try:
        return parse_duration(given)
    except InvalidDuration as error:
        problem = f"environment variable {variable}: {error}; write e.g. 10s or 1m30s"
        raise ConfigError(problem) from error


def _names(text: str) -> frozenset[str]:
    """The names of a comma list; spaces around them do not count."""
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _kind(fields: Fields) -> KindName:
    # An unquoted ``1`` or ``y`` is as good as text here, as it is for the Go runner.
    names = (fields.text(name, lenient=True) for name in ("group", "version", "kind"))
    return KindName(*names)


def _play(fields: Fields, cwd: Path, env: Mapping[str, str]) -> PlayPath:
    playbook, role = fields.text("playbook", lenient=True), fields.text("role", lenient=True)
    return resolve(playbook, role, cwd, env)


def _finalizer(fields: Fields, cwd: Path, env: Mapping[str, str]) -> Finalizer:
    return Finalizer(
        name=fields.text("name", lenient=True),
        play=_play(fields, cwd, env),
        vars=fields.mapping("vars"),
        run_timeout=_run_timeout(fields, "finalizer: runTimeout"),
    )


def _run_timeout(fields: Fields, place: str) -> float:
    """Seconds; 0 for none. A negative limit would end every run at its start."""
    seconds = fields.seconds("runTimeout")
    if seconds < 0:
        raise ConfigError(f"{place} must not be negative; leave it out for no limit")
    return seconds


def _selector(fields: Fields) -> Selector:
    labels = fields.labels("matchLabels")
    requirements = tuple(
        Requirement(
            item.text("key", lenient=True),
            item.text("operator", lenient=True),
            item.texts("values", lenient=True),
        )
        for item in fields.nested("matchExpressions", "LabelSelectorRequirement")
    )
    return Selector(tuple(labels.items()), requirements)


def _reference(fields: Fields) -> Reference:
    reference = Reference(
        kind=_kind(fields),
        name=fields.text("name"),
        namespace=fields.text("namespace"),
        conditions=fields.texts("conditions"),
        poll=fields.seconds("poll"),
    )
    if reference.poll and (reference.conditions or reference.poll < _SHORTEST_POLL):
        problem = f"poll must be at least {_SHORTEST_POLL:g}s, and excludes conditions"
        raise ConfigError(f"invalid reference {reference.kind}: {problem}")
    if not (reference.kind.version and reference.kind.kind and reference.name):
        raise ConfigError(f"invalid reference {reference.kind}: version, kind and name are needed")
    return reference


def _members(fields: Fields) -> Members:
    selector = fields.labels("matchLabels")
    members = Members(
        kind=_kind(fields),
        selector=",".join(f"{name}={value}" for name, value in sorted(selector.items())),
        name=fields.text("name"),
        annotations=fields.texts("annotations"),
        labels=fields.texts("labels"),
        spec=fields.flag("spec", default=False),
    )
    if not (members.kind.version and members.kind.kind and (members.name or members.spec)):
        problem = "version, kind and name are needed, or spec in place of name"
        raise ConfigError(f"invalid members {members.kind}: {problem}")
    return members


def _retry(fields: Fields) -> Retry:
    usual = Retry()
    retry = Retry(
        first=fields.seconds("initialDelay", usual.first),
        longest=fields.seconds("maxDelay", usual.longest),
    )
    if not 0 < retry.first <= retry.longest:
        raise ConfigError("retry: 0 < initialDelay <= maxDelay must hold")
    return retry


def _admission(given: tuple[str, ...] | Fields) -> Admission:
    """A list names functions that do both; a mapping names them separately."""
    if isinstance(given, tuple):
        return Admission(default=given, validate=given)
    usual = Admission()
    admission = Admission(
        default=given.texts("default"),
        validate=given.texts("validate"),
        operations=given.texts("operations") or usual.operations,
        subresources=given.texts("subresources"),
        failure_policy=given.text("failurePolicy"),
    )
    if unknown := given.leftover():
        raise ConfigError(f"admission: unknown keys {', '.join(unknown)}")
    if wrong := set(admission.operations) - set(OPERATIONS):
        raise ConfigError(f"admission: operations are {', '.join(OPERATIONS)}, not {min(wrong)}")
    if admission.failure_policy not in {"", *FAILURE_POLICIES}:
        raise ConfigError(
            f"admission: failurePolicy is {' or '.join(FAILURE_POLICIES)}, "
            f"not {admission.failure_policy}"
        )
    return admission


def _plugin(key: str, name: str) -> str:
    if name and not _PLUGIN.fullmatch(name):
        raise ConfigError(
            f"{key}: {name} is not the full name of a plugin, such as my.collection.settled"
        )
    return name


def _probe(fields: Fields, env: Mapping[str, str]) -> Probe:
    """A probe; a period of 0 switches it off."""
    test = _plugin("probe", fields.text("test"))
    if not test:
        raise ConfigError("probe: test must name a test plugin")
    period, variable = fields.seconds("period", PROBE_SECONDS), fields.text("periodVariable")
    if unknown := fields.leftover():
        raise ConfigError(f"probe: unknown keys {', '.join(unknown)}")
    return Probe(test, _from_environment(variable, period, env))


def _isolation(value: str) -> Isolation:
    if value and value not in set(Isolation):
        raise ConfigError(f"isolation is {' or '.join(Isolation)}, not {value}")
    return Isolation(value or Isolation.RUN)


def _validate(watch: Watch, seen: set[KindName], *, strict: bool) -> None:
    if strict and watch.unknown_keys:
        raise ConfigError(f"unknown keys of {watch.kind}: {', '.join(watch.unknown_keys)}")
    if watch.kind in seen:
        raise ConfigError(f"duplicate GVK: {watch.kind}")
    seen.add(watch.kind)
    if problem := watch.play.problem:
        _LOG.error(f"Invalid ansible path for GVK: {watch.kind}", error=problem)
        raise ConfigError(problem)
    if watch.finalizer:
        _validate_finalizer(watch.kind, watch.finalizer)


def _validate_finalizer(kind: KindName, finalizer: Finalizer) -> None:
    if not finalizer.name:
        _LOG.error(f"Invalid finalizer for GVK: {kind}")
        raise ConfigError("finalizer must have name")
    if not finalizer.play and finalizer.vars:
        return
    if problem := finalizer.play.problem:
        _LOG.error(f"Invalid ansible path on Finalizer for GVK: {kind}", error=problem)
        raise ConfigError(problem)
