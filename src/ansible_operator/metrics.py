# SPDX-License-Identifier: Apache-2.0
"""Collectors of the runner, under the names that users of the Go runner know."""

import contextlib
import datetime
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry(auto_describe=True)

RECONCILE_BUCKETS = (
    *(
        0.005,
        0.01,
        0.025,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
    ),
    *(1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)

BUILD_INFO = Gauge(
    "ansible_operator_build_info",
    "Build information; always 1",
    ["commit", "version"],
    registry=REGISTRY,
)
RECONCILE_RESULT = Gauge(
    "ansible_operator_reconcile_result",
    "Number of runs per kind and result",
    ["GVK", "result"],
    registry=REGISTRY,
)
RECONCILES = Histogram(
    "ansible_operator_reconciles",
    "Seconds that runs took",
    ["GVK"],
    registry=REGISTRY,
)
RECONCILE_TOTAL = Counter(
    "controller_runtime_reconcile",
    "Number of reconciles per controller and result",
    ["controller", "result"],
    registry=REGISTRY,
)
RECONCILE_SECONDS = Histogram(
    "controller_runtime_reconcile_time_seconds",
    "Seconds per reconcile",
    ["controller"],
    buckets=RECONCILE_BUCKETS,
    registry=REGISTRY,
)
ACTIVE_WORKERS = Gauge(
    "controller_runtime_active_workers",
    "Reconciles under way",
    ["controller"],
    registry=REGISTRY,
)
QUEUE_DEPTH = Gauge(
    "workqueue_depth",
    "Objects waiting for a worker; priority 0 for changed ones, -100 for periodic ones",
    ["name", "controller", "priority"],
    registry=REGISTRY,
)
REQUESTS = Counter(
    "rest_client_requests",
    "Requests to the API server",
    ["code", "host", "method"],
    registry=REGISTRY,
)
MAX_CONCURRENT_RECONCILES = Gauge(
    "controller_runtime_max_concurrent_reconciles",
    "Reconciles that may be under way",
    ["controller"],
    registry=REGISTRY,
)
RECONCILE_ERRORS = Counter(
    "controller_runtime_reconcile_errors",
    "Number of reconciles that failed",
    ["controller"],
    registry=REGISTRY,
)
RECONCILE_PANICS = Counter(
    "controller_runtime_reconcile_panics",
    "Number of reconciles that crashed",
    ["controller"],
    registry=REGISTRY,
)
QUEUE_ADDS = Counter(
    "workqueue_adds",
    "Objects put into the queue",
    ["name", "controller"],
    registry=REGISTRY,
)
QUEUE_RETRIES = Counter(
    "workqueue_retries",
    "Objects put into the queue because a reconcile failed",
    ["name", "controller"],
    registry=REGISTRY,
)
QUEUE_SECONDS = Histogram(
    "workqueue_queue_duration_seconds",
    "Seconds that objects waited for a worker",
    ["name", "controller"],
    registry=REGISTRY,
)
WORK_SECONDS = Histogram(
    "workqueue_work_duration_seconds",
    "Seconds that workers took for an object",
    ["name", "controller"],
    registry=REGISTRY,
)
UNFINISHED_WORK = Gauge(
    "workqueue_unfinished_work_seconds",
    "Seconds that all reconciles under way have taken so far",
    ["name", "controller"],
    registry=REGISTRY,
)
LONGEST_RUNNING = Gauge(
    "workqueue_longest_running_processor_seconds",
    "Seconds that the longest reconcile under way has taken so far",
    ["name", "controller"],
    registry=REGISTRY,
)
TERMINAL_ERRORS = Counter(
    "controller_runtime_terminal_reconcile_errors",
    "Number of reconciles that failed and are not tried again",
    ["controller"],
    registry=REGISTRY,
)
RESOURCE_CREATED = Gauge(
    "resource_created_at_seconds",
    "Creation time of a controlled object in seconds since 1970",
    ["group", "kind", "name", "namespace", "version"],
    registry=REGISTRY,
)
RESOURCE_CONDITION = Gauge(
    "resource_condition",
    "A condition of a controlled object: 1 if it is True, 0 if it is False, -1 if it is neither",
    # Prometheus has labels of its own for the Pod that it scrapes: namespace, for one.
    ["group", "kind", "object_namespace", "object", "condition", "reason"],
    registry=REGISTRY,
)
LEADER = Gauge(
    "leader_election_master_status",
    "1 while this process is the leader, 0 while it is not",
    ["name"],
    registry=REGISTRY,
)
SHARDS = Gauge(
    "ansible_operator_shards",
    "Number of shards whose objects this process runs, with --shards",
    ["name"],
    registry=REGISTRY,
)
WEBHOOK_REQUESTS = Counter(
    "controller_runtime_webhook_requests",
    "Number of admission reviews by HTTP status code",
    ["webhook", "code"],
    registry=REGISTRY,
)
WEBHOOK_SECONDS = Histogram(
    "controller_runtime_webhook_latency_seconds",
    "Seconds that admission reviews took",
    ["webhook"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
WEBHOOK_IN_FLIGHT = Gauge(
    "controller_runtime_webhook_requests_in_flight",
    "Admission reviews under way",
    ["webhook"],
    registry=REGISTRY,
)
ISOLATED_FAILURES = Counter(
    "ansible_operator_isolated_failures",
    "Number of failures of a part of the process, such as the handling of one object, that were "
    "logged and left behind",
    ["part"],
    registry=REGISTRY,
)
WARM_ENGINE = Gauge(
    "ansible_operator_warm_engine",
    "1 if runs are played by forks of a process that has Ansible loaded; 0 if each is played "
    "through ansible-runner, because that was chosen or the self-test at the start has failed",
    registry=REGISTRY,
)
ADMISSION_FAILURES = Counter(
    "ansible_operator_admission_failures",
    "Number of admission reviews that functions did not answer: exception, timeout, died, "
    "unavailable",
    ["GVK", "reason"],
    registry=REGISTRY,
)


Labels = tuple[str, str, str, str, str]
_CONDITION_VALUES = {"True": 1, "False": 0}
_shown_conditions: dict[Labels, set[tuple[str, str]]] = {}


def note_resource(labels: Labels, created: str) -> None:
    """Show a controlled object.

    Args:
        labels: group, kind, name, namespace, version.
        created: ``creationTimestamp`` as RFC 3339.
    """
    with contextlib.suppress(ValueError, OverflowError):  # other servers may write other times
        seconds = datetime.datetime.fromisoformat(created).timestamp()
        RESOURCE_CREATED.labels(*labels).set(seconds)


def note_conditions(labels: Labels, conditions: Mapping[str, tuple[str, str]]) -> None:
    """Show conditions of a controlled object in place of those that were shown before.

    Args:
        labels: as in :func:`note_resource`.
        conditions: status and reason by type.
    """
    group, kind, name, namespace, _version = labels
    own = (group, kind, namespace, name)
    shown = {(condition, reason) for condition, (_status, reason) in conditions.items()}
    for before in _shown_conditions.get(labels, set()) - shown:
        RESOURCE_CONDITION.remove(*own, *before)
    for condition, (status, reason) in conditions.items():
        series = RESOURCE_CONDITION.labels(*own, condition, reason)
        series.set(_CONDITION_VALUES.get(status, -1))
    if shown:
        _shown_conditions[labels] = shown
    else:
        _shown_conditions.pop(labels, None)


def forget_resource(labels: Labels) -> None:
    """A controlled object was deleted; labels as in :func:`note_resource`."""
    note_conditions(labels, {})
    with contextlib.suppress(KeyError):
        RESOURCE_CREATED.remove(*labels)
