# SPDX-License-Identifier: Apache-2.0
"""How many log stores a drain of nodes may take: none that serves while a replica is missing."""

from typing import Any

import pytest

from tests.support import resources as r
from tests.support.builders import conditions, pod
from tests.support.passes import plan_of

Json = dict[str, Any]
SERVED = conditions(("Ready", "True", "EnoughReadyStores"), ("Progressing", "False", "Settled"))
CREATING = conditions(("Ready", "False", "NotEnough"), ("Progressing", "True", "Creating"))
WHOLE = [{"shard": 0, "replicas": 3, "available": 3}]
SHORT = [{"shard": 0, "replicas": 3, "available": 2}]
LOST = {"mo-log-2": "has lost its data"}


BY_SPEC = {"maxUnavailable": 1}
NO_READY = {"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
NONE = {"maxUnavailable": 0}


def answered(shards: Any, **more: Any) -> Json:
    return {"asked": True, "reached": shards is not None, "shards": shards, **more}


@pytest.mark.parametrize(
    ("status", "stores", "unready", "limit"),
    [
        pytest.param({"conditions": CREATING}, answered(None), 1, BY_SPEC, id="it never served"),
        pytest.param({"shards": WHOLE}, {}, 0, BY_SPEC, id="all is well, nobody has to ask"),
        pytest.param({"shards": SHORT}, answered(WHOLE), 0, BY_SPEC, id="the last one is back"),
        pytest.param({"shards": WHOLE}, answered(SHORT), 0, NO_READY, id="a replica is missing"),
        pytest.param({"shards": SHORT}, {}, 0, NO_READY, id="one was, nobody has asked since"),
        pytest.param({"shards": SHORT}, answered(None), 0, BY_SPEC, id="HAKeeper is silent"),
        pytest.param({}, answered([]), 0, BY_SPEC, id="HAKeeper lists no log shard yet"),
        pytest.param({}, answered(WHOLE, lost=LOST), 0, NO_READY, id="a spare is of no use"),
        pytest.param({}, answered(SHORT), 1, NO_READY, id="one that is down may go"),
        pytest.param({}, answered(SHORT), 2, NONE, id="two are down and may be recovering"),
    ],
)
def test_no_log_store_that_serves_is_evicted_while_a_replica_is_missing(
    status: Json, stores: Json, unready: int, limit: Json
) -> None:
    found = budget(status, stores, unready)
    del found["selector"]
    assert found == limit


def test_what_the_spec_allows_is_for_log_shards_that_are_complete() -> None:
    chosen = {"podDisruptionBudget": {"maxUnavailable": "50%"}}
    assert budget({}, answered(WHOLE), 0, **chosen)["maxUnavailable"] == "50%"
    assert budget({}, answered(SHORT), 0, **chosen)["maxUnavailable"] == 0


def budget(status: Json, stores: Json, unready: int, **spec: Any) -> Json:
    """Return the spec of the budget that a pass applies."""
    live = r.logset(replicas=3, **spec)
    live["metadata"]["uid"] = "u-2"
    live["status"] = {"conditions": SERVED, **status}
    name = live["metadata"]["name"]
    seen = {
        "self": live,
        "workload": r.find(r.render(live), "StatefulSet"),
        "pods": [pod(f"{name}-log-{n}", ready=n >= unready) for n in range(3)],
        "bucket": r.GRANTED,
        "results": stores,
    }
    made = plan_of(live, seen)["objects"]
    return dict(next(one for one in made if one["kind"] == "PodDisruptionBudget")["spec"])
