# SPDX-License-Identifier: Apache-2.0
"""Whether the transaction node may have taken a compute node for dead that HAKeeper did not hear."""

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.drain import Policy
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.observed_stores import (
    observed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pass_input import (
    PassInput,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.pods import uuid_of

from tests.support.builders import conditions

_RUNNING = {"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
_POD: dict[str, Any] = {
    "metadata": {"name": "a", "namespace": "ns", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"subdomain": "headless"},
    "status": {"conditions": [], "containerStatuses": [_RUNNING]},
}


SETTLED = {"status": {"conditions": conditions(("Ready", "True", ""))}}
LOST = {"status": {"conditions": conditions(("Ready", "False", ""))}}


def answered_by_hakeeper(silent: float, transaction_node: float, log_store: float = 0.4) -> Any:
    """Return how long ago HAKeeper heard the compute node, the transaction node, a log store."""
    record = SimpleNamespace(
        uuid=uuid_of(_POD),
        work_state=WorkState.WORKING,
        labels={},
        expired=False,
        silent=silent,
    )
    return SimpleNamespace(
        cn_store=lambda _uuid: record,
        tn_stores=[SimpleNamespace(silent=transaction_node)],
        log_silences=[log_store],
    )


def pass_input_with(log_set: Any) -> PassInput:
    return PassInput(
        policy=Policy(True, 15, 300),
        desired=1,
        present=1,
        pods=[_POD],
        others=[],
        addresses=[],
        now=1_800_000_000.0,
        log_set=log_set,
    )


@pytest.mark.parametrize(
    ("log_set", "silent", "transaction_node", "expected"),
    [
        (SETTLED, 11.0, 0.4, True),
        (SETTLED, 11.0, 12.5, False),
        (LOST, 19.0, 0.4, False),
        (LOST, 31.0, 0.4, True),
    ],
    ids=[
        "it alone",
        "together with the transaction node",
        "while a log store fails",
        "together with a log store",
    ],
)
def test_a_compute_node_is_isolated_from_the_transaction_node(
    log_set: Any, silent: float, transaction_node: float, expected: bool
) -> None:
    """Who may be taken for dead by a transaction node that is heard is replaced when it is back."""
    found = observed(pass_input_with(log_set), _POD, answered_by_hakeeper(silent, transaction_node))
    assert found.isolated is expected
    assert found.silent
