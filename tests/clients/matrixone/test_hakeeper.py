# SPDX-License-Identifier: Apache-2.0
"""The HAKeeper client against the database's own state machine and RPC server, with faults."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    BadRequest,
    Deadline,
    HAKeeper,
    LogStore,
    MatrixOneError,
    NotLeader,
    NotNow,
    Reach,
    Refused,
    TimedOut,
    UnknownStore,
    Unreachable,
    Unsupported,
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.quorum import (
    running_shards,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import Shard

from tests.clients.matrixone.conftest import Peers, cn, log_store, simulated

pytestmark = pytest.mark.rpc
FOREVER = -1


def soon(seconds: float = 10) -> Deadline:
    return Deadline.after(seconds)


@pytest.fixture
def hakeeper(sim: Peers) -> Iterator[HAKeeper]:
    with HAKeeper(discovery=[sim.stores[2]], reach=Reach.MACHINE) as client:
        yield client


def stored(sim: Peers, number: int) -> tuple[WorkState, dict[str, list[str]]]:
    """Work state and labels of a compute node as the state machine has them."""
    store = sim.state()["CNState"]["Stores"][cn(number)]
    labels = store.get("Labels") or {}
    return WorkState.of(store.get("WorkState", 0)), {
        key: one.get("Labels", []) for key, one in labels.items()
    }


def test_details(sim: Peers, hakeeper: HAKeeper) -> None:
    details = hakeeper.cluster_details(soon())
    assert [one.uuid for one in details.log_stores] == [log_store(i) for i in range(3)]
    assert [one.address for one in details.log_stores] == sim.stores
    assert [one.uuid for one in details.cn_stores] == [cn(i) for i in range(3)]
    node = details.cn_stores[1]
    assert (node.sql_address, node.query_address) == ("10.0.2.2:6001", sim.query[1])
    assert (node.work_state, node.labels, node.expired) == (WorkState.WORKING, {}, False)
    assert node.settings() == {"cn.role": "TP", "config.shardservice.enable": "true"}
    assert "cn.role" not in repr(node)
    tn = details.serving_tn()
    assert tn is not None
    assert tn.lock_address == sim.lock
    assert tn.shards == {2: 262160}
    assert [one.address for one in details.proxies] == ["10.0.3.1:6009"]


def has_quorum(shard: Shard) -> bool:
    return shard.survives_without([])


def test_details_show_quorum_and_its_loss(frozen: Peers) -> None:
    with HAKeeper(addresses=frozen.stores, reach=Reach.MACHINE) as hakeeper:
        healthy = running_shards(hakeeper.cluster_details(soon()))
        assert {number: has_quorum(one) for number, one in healthy.items()} == {0: True, 1: True}
        assert healthy[0].leader == log_store(0)
        assert healthy[1].survives_without([log_store(2)])
        for lost, quorum, room in ((2, True, False), (1, False, False)):
            frozen.do("log", i=lost, down=1)
            frozen.do("tick", n=150)
            frozen.do("heartbeat")
            health = running_shards(hakeeper.cluster_details(soon()))
            assert log_store(lost) not in health[1].alive
            assert has_quorum(health[1]) is quorum
            assert health[1].survives_without([log_store(0)]) is room


def test_state_never_carries_the_credentials_of_the_task_table(
    sim: Peers, hakeeper: HAKeeper
) -> None:
    state = hakeeper.cluster_state(soon())
    assert state.running
    assert state.wanted_replicas == {0: 3, 1: 3}
    assert state.log_shard_of == {2: 1}
    assert state.shards[0].members == {131072 + i: log_store(i) for i in range(3)}
    assert "mo_task_user" in str(sim.state())
    assert "mo_task_user" not in str(state)


def test_draining_and_back(sim: Peers, hakeeper: HAKeeper) -> None:
    for state in (WorkState.DRAINING, WorkState.DRAINED, WorkState.WORKING):
        hakeeper.set_work_state(cn(1), state, soon())
        assert stored(sim, 1)[0] == state
        node = hakeeper.cluster_details(soon()).cn_store(cn(1))
        assert node is not None
        assert node.work_state is state
    assert stored(sim, 0)[0] == WorkState.WORKING


def test_labels_set_replaced_and_cleared(sim: Peers, hakeeper: HAKeeper) -> None:
    hakeeper.replace_labels(cn(0), {"account": ["a", "b"], "role": ["tp"]}, soon())
    assert stored(sim, 0)[1] == {"account": ["a", "b"], "role": ["tp"]}
    hakeeper.replace_labels(cn(0), {"account": ["c"]}, soon())
    assert stored(sim, 0)[1] == {"account": ["c"]}
    hakeeper.set_work_state(cn(0), WorkState.DRAINING, soon())
    assert stored(sim, 0) == (WorkState.DRAINING, {"account": ["c"]})
    hakeeper.replace_labels(cn(0), {}, soon())
    assert stored(sim, 0) == (WorkState.DRAINING, {})


def test_state_and_labels_at_once_and_cleared_at_once(sim: Peers, hakeeper: HAKeeper) -> None:
    hakeeper.patch_store(cn(0), WorkState.DRAINING, {"account": ["a"]}, soon())
    assert stored(sim, 0) == (WorkState.DRAINING, {"account": ["a"]})
    hakeeper.patch_store(cn(0), WorkState.WORKING, {}, soon())
    assert stored(sim, 0) == (WorkState.WORKING, {})


def test_a_deleted_store_that_still_runs_comes_back_without_labels(frozen: Peers) -> None:
    with HAKeeper(addresses=frozen.stores, reach=Reach.MACHINE) as hakeeper:
        hakeeper.patch_store(cn(0), WorkState.DRAINING, {"account": ["a"]}, soon())
        hakeeper.delete_store(cn(0), soon())
        details = hakeeper.cluster_details(soon())
        assert details.cn_store(cn(0)) is None
        assert [one.uuid for one in details.deleted] == [cn(0)]
        assert details.deleted[0].down is not None
        frozen.do("heartbeat")
        again = hakeeper.cluster_details(soon()).cn_store(cn(0))
        assert again is not None
        assert (again.work_state, again.labels) == (WorkState.WORKING, {})


def test_a_silent_store_expires_and_goes(frozen: Peers) -> None:
    with HAKeeper(addresses=frozen.stores, reach=Reach.MACHINE) as hakeeper:
        frozen.do("cn", uuid=cn(2), down=1)
        frozen.do("tick", n=200)
        frozen.do("heartbeat")
        node = hakeeper.cluster_details(soon()).cn_store(cn(2))
        assert node is not None
        assert (node.expired, node.silent) == (False, 20)
        frozen.do("tick", n=150)
        assert hakeeper.cluster_details(soon()).cn_store(cn(2)) is None


def test_unknown_stores(hakeeper: HAKeeper) -> None:
    with pytest.raises(UnknownStore, match="does not exist"):
        hakeeper.set_work_state("no-such", WorkState.DRAINING, soon())
    with pytest.raises(UnknownStore):
        hakeeper.replace_labels("no-such", {"a": ["b"]}, soon())
    hakeeper.delete_store("no-such", soon())


def test_requests_that_a_server_would_store_unchecked_are_not_sent(
    sim: Peers, hakeeper: HAKeeper
) -> None:
    with pytest.raises(BadRequest):
        hakeeper.set_work_state(cn(0), 7, soon())  # type: ignore[arg-type]
    with pytest.raises(BadRequest):
        hakeeper.set_work_state(cn(0), WorkState.UNKNOWN, soon())
    with pytest.raises(BadRequest):
        hakeeper.delete_store("", soon())
    with pytest.raises(BadRequest):
        hakeeper.replace_labels(cn(0), {"": ["a"]}, soon())
    with pytest.raises(BadRequest):
        hakeeper.replace_labels(cn(0), {"account": "a"}, soon())
    with pytest.raises(BadRequest):
        HAKeeper()
    assert sim.alive()
    assert stored(sim, 0) == (WorkState.WORKING, {})


def test_a_store_without_hakeeper_is_passed_over(tmp_path: Path) -> None:
    with (
        simulated(tmp_path, "-non-hakeeper", "0,1") as sim,
        LogStore(sim.stores[0], Reach.MACHINE) as store,
    ):
        assert store.hosts_hakeeper(soon()) is False
        with HAKeeper(addresses=sim.stores, reach=Reach.MACHINE) as hakeeper:
            assert len(hakeeper.cluster_details(soon()).cn_stores) == 3
        with (
            HAKeeper(addresses=sim.stores[:2], reach=Reach.MACHINE) as nobody,
            pytest.raises(NotLeader, match="hosts no HAKeeper"),
        ):
            nobody.cluster_details(soon(1))


def test_hakeeper_moves_to_another_store(sim: Peers, hakeeper: HAKeeper) -> None:
    hakeeper.cluster_details(soon())
    for store in (0, 2):
        sim.do("log", i=store, hakeeper=0)
    assert len(hakeeper.cluster_details(soon()).cn_stores) == 3


def test_no_leader_for_a_while(sim: Peers, hakeeper: HAKeeper) -> None:
    """Discovery finds nobody until there is a leader again: the call waits, and then succeeds."""
    sim.do("leader", replica=0)
    begun = time.monotonic()
    with pytest.raises(NotLeader, match="nobody leads shard 0"):
        hakeeper.cluster_details(soon(1.5))
    assert time.monotonic() - begun < 2
    sim.do("leader", replica=131073)
    assert hakeeper.cluster_details(soon()).cn_stores


def test_without_a_leader_a_list_of_addresses_still_leads_there(sim: Peers) -> None:
    sim.do("leader", replica=0)
    with HAKeeper(discovery=[sim.stores[0]], addresses=sim.stores, reach=Reach.MACHINE) as hakeeper:
        assert hakeeper.cluster_details(soon()).cn_stores


def test_advertised_addresses_that_lead_nowhere(sim: Peers) -> None:
    """A dead store is still listed: the others are found all the same."""
    sim.do("log", i=0, advertise="127.0.0.1:1")
    sim.do("log", i=1, advertise="")
    with HAKeeper(discovery=[sim.stores[1]], reach=Reach.MACHINE) as hakeeper:
        assert hakeeper.cluster_details(soon()).cn_stores


@pytest.mark.parametrize("code", [20417, 20429, 20434, 20435, 20437, 20438])
def test_passing_refusals_are_tried_again(sim: Peers, hakeeper: HAKeeper, code: int) -> None:
    hakeeper.cluster_details(soon())
    sim.do("fault", method="PATCH_CN_STORE", code=code, count=2)
    hakeeper.set_work_state(cn(0), WorkState.DRAINING, soon())
    assert stored(sim, 0)[0] == WorkState.DRAINING


@pytest.mark.parametrize(
    ("code", "error"), [(20417, NotLeader), (20429, NotNow), (20434, NotNow), (20437, NotLeader)]
)
def test_lasting_refusals_end_with_the_deadline(
    sim: Peers, hakeeper: HAKeeper, code: int, error: type[MatrixOneError]
) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", code=code, count=FOREVER)
    begun = time.monotonic()
    with pytest.raises(error, match=f"code {code}"):
        hakeeper.cluster_details(soon(2))
    assert time.monotonic() - begun < 2.5


@pytest.mark.parametrize(
    ("code", "error"), [(20101, Refused), (20105, Unsupported), (20301, Refused)]
)
def test_lasting_refusals_are_not_repeated(
    sim: Peers, hakeeper: HAKeeper, code: int, error: type[MatrixOneError]
) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", code=code, msg="because", count=1)
    with pytest.raises(error, match="because"):
        hakeeper.cluster_details(soon())
    assert hakeeper.cluster_details(soon()).cn_stores


def test_a_dropped_connection_is_made_anew(sim: Peers, hakeeper: HAKeeper) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", drop=1, count=3)
    assert hakeeper.cluster_details(soon()).cn_stores


def test_a_connection_that_is_always_dropped(sim: Peers, hakeeper: HAKeeper) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", drop=1, count=FOREVER)
    with pytest.raises(Unreachable, match=r"closed|reset"):
        hakeeper.cluster_details(soon(2))


def test_a_store_that_never_answers_is_left_after_five_seconds(
    sim: Peers, hakeeper: HAKeeper
) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", mute=1, count=1)
    begun = time.monotonic()
    assert hakeeper.cluster_details(soon(15)).cn_stores
    assert 4.5 < time.monotonic() - begun < 7


@pytest.mark.parametrize("silent", [{"mute": 1}, {"code": 20429, "delay_ms": 5000}])
def test_a_store_that_takes_all_the_time_leaves_some_for_the_others(
    sim: Peers, hakeeper: HAKeeper, silent: dict[str, int]
) -> None:
    sim.do("fault", method="GET_CLUSTER_DETAILS", count=1, **silent)
    assert hakeeper.cluster_details(soon(3)).cn_stores


def test_nobody_ever_answers(sim: Peers, hakeeper: HAKeeper) -> None:
    sim.do("fault", method="*", mute=1, count=FOREVER)
    begun = time.monotonic()
    with pytest.raises(TimedOut):
        hakeeper.cluster_details(soon(3))
    assert time.monotonic() - begun < 3.5


def test_an_answer_that_comes_late_is_not_taken_for_another(sim: Peers, hakeeper: HAKeeper) -> None:
    """The mutation of a call that was given up may be applied later; its answer is nobody's."""
    sim.do("fault", method="PATCH_CN_STORE", delay_ms=1500, count=3)
    with pytest.raises(TimedOut):
        hakeeper.set_work_state(cn(0), WorkState.DRAINING, soon(0.5))
    assert len(hakeeper.cluster_details(soon()).cn_stores) == 3


def test_the_program_behind_all_addresses_dies(sim: Peers, hakeeper: HAKeeper) -> None:
    hakeeper.cluster_details(soon())
    sim.process.kill()
    sim.process.wait(10)
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        hakeeper.cluster_details(soon(2))
    assert time.monotonic() - begun < 2.5


def test_a_log_store_tells_who_leads_a_shard_it_knows(sim: Peers) -> None:
    with LogStore(sim.stores[0], Reach.MACHINE) as store:
        with pytest.raises(NotLeader):
            store.shard_info(7, soon())
        info = store.shard_info(1, soon())
        assert (info.leader, sorted(info.addresses.values())) == (262145, sorted(sim.stores))
