# SPDX-License-Identifier: Apache-2.0
"""What the actions on stores came to crosses Ansible's variables unchanged."""

import json

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import drain
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute.stores_result import (
    CNStoresResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import failover
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.shards import (
    ShardCount,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.stores_result import (
    LogStoresResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.events import (
    occurrence,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.stores_result import (
    TNStoresResult,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.stores_result import (
    StoresResult,
)

EVENT = occurrence("StoreReplaced", "mo-log-2 is replaced", action="Repair")
OF_LOG_STORES = LogStoresResult(
    ran=True,
    asked=True,
    reached=True,
    problem="log shard 1 has no leader",
    shards=(ShardCount(0, 3, 3), ShardCount(1, 3, 2)),
    lost={"mo-log-2": "has lost its data"},
    repair=failover.Verdict(failover.Step.WAIT, "mo-log-2", "in 600 s", 1767225900.5),
    replicas=3,
    scaling="log store 3 leaves",
    incarnations={"2": 1},
    events=(EVENT,),
)
OF_COMPUTE_NODES = CNStoresResult(
    ran=True,
    managed=True,
    reached=True,
    problem="no answer in time",
    states={"tp-cn-x": "Draining"},
    drains={"tp-cn-x": drain.Drain(drain.Step.BUSY, "2 sessions", 1767225900.0)},
    replicas=2,
    unsettled=("tp-cn-y",),
)
OF_TRANSACTION_NODES = TNStoresResult(
    ran=True,
    asked=True,
    reached=True,
    problem="no answer in time",
    unserved=("mo-dn-0",),
    shards="0 1 1 1\n",
    blocked="mo-dn-1 is not replaced",
    events=(EVENT,),
)
HEARD = [OF_LOG_STORES, OF_COMPUTE_NODES, OF_TRANSACTION_NODES]


@pytest.mark.parametrize("result", HEARD, ids=lambda result: type(result).__name__)
def test_a_result_is_read_as_it_was_written(result) -> None:
    written = json.loads(json.dumps(plain(result.as_result())))
    assert type(result).read(written) == result


@pytest.mark.parametrize("result", HEARD, ids=lambda result: type(result).__name__)
def test_an_action_that_did_not_run_says_nothing(result) -> None:
    kind = type(result)
    assert kind.read({}) == kind() == kind.of(StoresResult())
    assert not kind().ran
    assert kind.of(result) is result
