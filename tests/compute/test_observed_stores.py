# SPDX-License-Identifier: Apache-2.0
"""Whether the transaction node may have taken a compute node for dead that HAKeeper did not hear."""

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Policy
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import uuid_of
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.compute.observed_stores import (
    observed,
)
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.compute.situation import (
    Situation,
)

_RUNNING = {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
_POD: dict[str, Any] = {
    "metadata": {"name": "a", "namespace": "ns", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"subdomain": "headless"},
    "status": {"conditions": [], "containerStatuses": [_RUNNING]},
}


@pytest.mark.parametrize(
    ("log_service_serves", "silent", "transaction_node", "expected"),
    [
        (True, 11.0, 0.4, True),
        (True, 11.0, 12.5, False),
        (False, 11.0, 0.4, False),
        (False, 31.0, 0.4, True),
    ],
    ids=[
        "it alone",
        "together with the transaction node",
        "while a log store fails",
        "together with a log store",
    ],
)
def test_a_compute_node_is_estranged_from_the_transaction_node(
    log_service_serves: bool, silent: float, transaction_node: float, expected: bool
) -> None:
    """Who may be taken for dead by a transaction node that is heard is replaced when it is back."""
    record = SimpleNamespace(
        uuid=uuid_of(_POD),
        work_state=WorkState.WORKING,
        labels={},
        expired=False,
        silent=silent,
    )
    details: Any = SimpleNamespace(
        cn_store=lambda _uuid: record, tn_stores=[SimpleNamespace(silent=transaction_node)]
    )
    situation = Situation(
        policy=Policy(True, 15, 300),
        desired=1,
        present=1,
        pods=[_POD],
        others=[],
        addresses=[],
        now=1_800_000_000.0,
        log_service_serves=log_service_serves,
    )
    found = observed(situation, _POD, details)
    assert found.estranged is expected
    assert found.silent
