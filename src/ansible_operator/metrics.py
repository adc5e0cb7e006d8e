# SPDX-License-Identifier: Apache-2.0
"""Collectors of the runner, under the names that users of the Go runner know (runner.md §2.20)."""

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
    "Objects waiting for a worker",
    ["name", "controller"],
    registry=REGISTRY,
)
REQUESTS = Counter(
    "rest_client_requests",
    "Requests to the API server",
    ["code", "host", "method"],
    registry=REGISTRY,
)
