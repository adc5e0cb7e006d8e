# SPDX-License-Identifier: Apache-2.0
"""The client against a real MatrixOne with three log services and two compute nodes."""

import time
from collections.abc import Iterator

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    LockService,
    MatrixOneError,
    NotNow,
    QueryService,
    Reach,
    UnknownStore,
    Unsupported,
    WorkState,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.quorum import (
    running_shards,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import Shard

from tests.clients.matrixone.matrixone import Database, cn_uuid, database, log_uuid
from tests.clients.matrixone.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = pytest.mark.node


def soon(seconds: float = 10) -> Deadline:
    return Deadline.after(seconds)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with database(tmp_path_factory.mktemp("matrixone")) as made:
        yield made


@pytest.fixture
def hakeeper(db: Database) -> Iterator[HAKeeper]:
    db.require_alive()
    with HAKeeper(
        discovery=db.log_stores[:1], addresses=db.log_stores, reach=Reach.MACHINE
    ) as client:
        yield client


def health(hakeeper: HAKeeper) -> dict[int, Shard]:
    return running_shards(hakeeper.cluster_details(soon(20)))


def lost_of(hakeeper: HAKeeper, shard: int) -> frozenset[str]:
    found = health(hakeeper)[shard]
    return found.members - found.alive


def backend_servers(db: Database) -> dict[str, tuple[str, str]]:
    """Work state and labels of each compute node, as the database itself shows them."""
    with db.connect("cn0") as session, session.cursor() as cursor:
        cursor.execute("show backend servers")
        return {row[0]: (row[2], row[3]) for row in cursor.fetchall()}


def sessions_of(hakeeper: HAKeeper, number: int) -> int:
    node = hakeeper.cluster_details(soon()).cn_store(cn_uuid(number))
    assert node is not None
    with QueryService(node.query_address, Reach.MACHINE) as query:
        return sum(one.from_proxy for one in query.sessions(soon()))


def test_details_show_quorum(db: Database, hakeeper: HAKeeper) -> None:
    details = hakeeper.cluster_details(soon())
    assert [one.uuid for one in details.log_stores] == [log_uuid(i) for i in range(3)]
    assert [one.address for one in details.log_stores] == db.log_stores
    assert [one.uuid for one in details.cn_stores] == [cn_uuid(0), cn_uuid(1)]
    assert details.serving_tn() is not None
    assert len(details.proxies) == 1
    for shard in running_shards(details).values():
        assert (shard.members, len(shard.alive)) == (shard.alive, 3)
        assert shard.leader in shard.members
    state = hakeeper.cluster_state(soon())
    assert state.running
    assert state.wanted_replicas == {0: 3, 1: 3}


def test_settings_are_those_of_the_file(hakeeper: HAKeeper) -> None:
    node = hakeeper.cluster_details(soon()).cn_stores[0]
    assert node.settings()["config.role"] == "TP"
    assert not node.hosts_shards()


def test_a_compute_node_is_not_asked_what_it_would_die_of(db: Database, hakeeper: HAKeeper) -> None:
    for node in hakeeper.cluster_details(soon()).cn_stores:
        with QueryService(node.query_address, Reach.MACHINE) as query:
            with pytest.raises(Unsupported, match="sharding is not enabled"):
                query.replicas(node, soon())
            assert query.pipelines(soon()) == 0
    db.require_alive()


def test_sessions_are_seen_where_they_are(db: Database, hakeeper: HAKeeper) -> None:
    with db.connect("cn1") as session, session.cursor() as cursor:
        cursor.execute("select connection_id()")
        row = cursor.fetchone()
        assert row is not None
        node = hakeeper.cluster_details(soon()).cn_store(cn_uuid(1))
        assert node is not None
        with QueryService(node.query_address, Reach.MACHINE) as query:
            found = {one.connection: one for one in query.sessions(soon())}
        mine = found[int(row[0])]
        assert (mine.account, mine.user, mine.from_proxy) == ("sys", "dump", False)
        assert mine.began is not None


def test_labels_set_replaced_and_cleared(db: Database, hakeeper: HAKeeper) -> None:
    for labels, shown in (
        ({"account": ["acc-1", "acc2"], "role": ["tp"]}, {"account:acc-1,acc2", "role:tp"}),
        ({"account": ["acc3"]}, {"account:acc3"}),
        ({}, set()),
    ):
        hakeeper.replace_labels(cn_uuid(1), labels, soon())
        node = hakeeper.cluster_details(soon()).cn_store(cn_uuid(1))
        assert node is not None
        assert {key: list(values) for key, values in node.labels.items()} == labels

        def seen(expected: set[str] = shown) -> bool:
            # The view of the database is some seconds old: the node may not be in it yet.
            text = backend_servers(db).get(cn_uuid(1), ("", "?"))[1]
            return {part for part in text.split(";") if part} == expected

        eventually(seen, 30, f"labels {shown} in the view of the database")


def test_draining_moves_all_sessions_without_an_error(db: Database, hakeeper: HAKeeper) -> None:
    with Traffic(db, "proxy") as traffic:
        eventually(lambda: sessions_of(hakeeper, 1) > 0, 30, "a session on the second node")
        hakeeper.set_work_state(cn_uuid(1), WorkState.DRAINING, soon())
        eventually(lambda: sessions_of(hakeeper, 1) == 0, 60, "the end of all sessions")
        before = len(traffic.acknowledged)
        time.sleep(2)
        assert len(traffic.acknowledged) > before
        hakeeper.set_work_state(cn_uuid(1), WorkState.WORKING, soon())
    node = hakeeper.cluster_details(soon()).cn_store(cn_uuid(1))
    assert node is not None
    assert node.work_state is WorkState.WORKING
    assert traffic.errors == []
    assert traffic.acknowledged <= traffic.stored()
    assert len(traffic.acknowledged) > 20


def test_unknown_stores(hakeeper: HAKeeper) -> None:
    with pytest.raises(UnknownStore, match="does not exist"):
        hakeeper.set_work_state("no-such-store", WorkState.DRAINING, soon())
    hakeeper.delete_store("no-such-store", soon())


def test_the_leader_is_lost_and_comes_back(db: Database, hakeeper: HAKeeper) -> None:
    """Calls go on within their deadline, and the details tell what was lost."""
    before = health(hakeeper)[0]
    assert before.leader
    lost = int(before.leader[-1])
    db.kill(f"log{lost}")
    try:
        hakeeper.set_work_state(cn_uuid(0), WorkState.WORKING, soon(30))
        eventually(lambda: lost_of(hakeeper, 0) == {log_uuid(lost)}, 60, "seeing the loss")
        for shard in health(hakeeper).values():
            assert shard.survives_without([])
            assert not any(shard.survives_without([uuid]) for uuid in shard.alive)
    finally:
        db.start(f"log{lost}")
    eventually(lambda: not lost_of(hakeeper, 0), 90, "its return")
    eventually(lambda: not lost_of(hakeeper, 1), 90, "its return")


def test_without_quorum_calls_end_in_time_and_say_why(db: Database, hakeeper: HAKeeper) -> None:
    hakeeper.cluster_details(soon())
    db.kill("log1")
    db.kill("log2")
    try:
        begun = time.monotonic()
        with pytest.raises(NotNow, match="no quorum"):
            hakeeper.set_work_state(cn_uuid(0), WorkState.WORKING, soon(8))
        with pytest.raises(MatrixOneError):
            hakeeper.cluster_details(soon(4))
        assert time.monotonic() - begun < 13
    finally:
        db.start("log1")
        db.start("log2")

    def answers() -> bool:
        try:
            return len(hakeeper.cluster_details(soon(5)).log_stores) == 3
        except MatrixOneError:
            return False

    eventually(answers, 90, "a quorum")
    eventually(lambda: not lost_of(hakeeper, 1), 90, "the return of all replicas")


def test_locks_are_handed_over_and_a_compute_node_that_ends_is_forgotten(
    db: Database, hakeeper: HAKeeper
) -> None:
    """The whole way of a scale-in; the last test, because it takes a compute node away."""
    uuid = cn_uuid(1)
    hakeeper.set_work_state(uuid, WorkState.DRAINING, soon(20))
    details = hakeeper.cluster_details(soon())
    tn = details.serving_tn()
    assert tn is not None
    with LockService(tn.lock_address, Reach.MACHINE) as locks:
        if not locks.can_restart(uuid, soon()):
            locks.set_restart(uuid, soon())
            eventually(lambda: locks.can_restart(uuid, soon()), 60, "handing locks over")
    db.kill("cn1")
    hakeeper.delete_store(uuid, soon())
    details = hakeeper.cluster_details(soon())
    assert details.cn_store(uuid) is None
    assert uuid in {one.uuid for one in details.deleted}
    with pytest.raises(UnknownStore):
        hakeeper.set_work_state(uuid, WorkState.DRAINING, soon())
    db.require_alive()
