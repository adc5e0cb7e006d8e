# SPDX-License-Identifier: Apache-2.0
"""Which Pods serve, and in which order log stores are asked."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.pod_addresses import (
    log_addresses,
    running_sql_addresses,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.pods import is_ready
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import cn_store

NOW = "2026-01-01T00:00:00Z"


def pod(name: str, ready: str | None, *, terminating: bool = False, ip: str = "") -> dict[str, Any]:
    """Return a Pod of a log store."""
    labels = {names.LABEL_COMPONENT: names.LOG_SET}
    metadata: dict[str, Any] = {"name": name, "namespace": "prod", "labels": labels}
    if terminating:
        metadata["deletionTimestamp"] = NOW
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    return {"metadata": metadata, "status": {"conditions": conditions, "podIP": ip}}


@pytest.mark.parametrize(
    ("ready", "terminating", "expected"),
    [
        ("True", False, True),
        ("False", False, False),
        ("Unknown", False, False),
        (None, False, False),
        # Until its process ends, a Pod that terminates keeps the condition; its Service has
        # already dropped it.
        ("True", True, False),
        ("False", True, False),
    ],
)
def test_a_pod_serves_while_it_is_ready_and_stays(
    ready: str | None, terminating: bool, expected: bool
) -> None:
    """One rule for all components: compute nodes are counted by it, too."""
    found = pod("mo-cn-0", ready, terminating=terminating)
    assert is_ready(found) is expected
    assert cn_store(found, None, asked=False).ready is expected


def test_log_stores_that_stay_are_asked_first() -> None:
    """One that terminates answers for a moment more, and is asked when no other does."""
    pods = [
        pod("mo-log-0", "True", terminating=True, ip="10.0.0.10"),
        pod("mo-log-1", "True", ip="10.0.0.11"),
        pod("mo-log-2", "False", ip="fd00::12"),
        pod("mo-log-3", "True"),
    ]
    port = names.PORT_LOG
    expected = [f"10.0.0.11:{port}", f"10.0.0.10:{port}", f"[fd00::12]:{port}"]
    assert log_addresses(pods) == expected


@pytest.mark.parametrize(
    ("ready", "terminating", "container", "asked"),
    [
        ("True", False, {"running": {}}, True),
        ("False", False, {"running": {}}, True),
        ("True", True, {"running": {}}, True),
        ("False", False, {"waiting": {"reason": "CrashLoopBackOff"}}, False),
        ("False", False, {"terminated": {"exitCode": 1}}, False),
    ],
    ids=["ready", "not ready", "ends", "waits", "has ended"],
)
def test_whoever_runs_may_have_sessions(
    ready: str, terminating: bool, container: dict[str, Any], asked: bool
) -> None:
    found = pod("mo-tp-cn-0", ready, terminating=terminating, ip="10.0.0.20")
    found["status"]["containerStatuses"] = [{"name": "main", "state": container}]
    expected = {"mo-tp-cn-0": ("10.0.0.20", names.PORT_SQL)} if asked else {}
    assert running_sql_addresses([found]) == expected
    assert running_sql_addresses([pod("mo-tp-cn-0", ready, ip="10.0.0.20")]) == {}
