# SPDX-License-Identifier: Apache-2.0
"""A transaction node that forgets its shard makes compute nodes acknowledge what nobody stores.

A fault of MatrixOne 1.3, without anything of ours: the first test fails when it is mended. The
second shows that the file which the collection keeps is what it takes.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pymysql
import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    Reach,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.shards import (
    TNShard,
    shard_file,
)

from tests.clients.matrixone.matrixone import Database, database
from tests.clients.matrixone.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
]

T = TypeVar("T")
TN_UUID = "dddddddd-0000-0000-0000-000000000000"
_ADDRESS = "127.0.0.1:22000"
"""What the node writes down where `service-address` is left out; nobody uses it."""
_TRIES = 2
_BLIND_SECONDS = 25.0
"""Ten until HAKeeper gives a shard, ten until compute nodes look at it again, and some."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with database(tmp_path_factory.mktemp("matrixone"), 1) as made:
        yield made


def replaced(db: Database, memory: bytes) -> set[int]:
    """Give the transaction node a new disk under traffic; return acknowledged rows that are gone.

    Args:
        db: the database.
        memory: what the new disk has of the old one; nothing if it is empty.
    """
    with _patiently(Traffic(db, "proxy").__enter__) as traffic:
        time.sleep(3)
        db.kill("tn")
        folder = db.folder / "tn"
        shutil.rmtree(folder)
        if memory:
            (folder / "tnservice").mkdir(parents=True)
            (folder / "tnservice" / TN_UUID).write_bytes(memory)
        db.start("tn")
        before = len(traffic.acknowledged)
        time.sleep(_BLIND_SECONDS)
        _revive(db)
        eventually(lambda: len(traffic.acknowledged) > before + 50)
        time.sleep(3)
    found = _patiently(traffic.stored)
    time.sleep(5)
    return traffic.acknowledged - found - _patiently(traffic.stored)


def _revive(db: Database) -> None:
    """Start compute nodes that ended: MatrixOne 1.3 may, when its transaction node goes."""
    if db.processes["cn0"].poll() is not None:
        db.processes.pop("cn0")
        db.start("cn0")
        db.wait_for_sql("cn0")


def _patiently(call: Callable[[], T]) -> T:
    """Call until the database does without an error; a new transaction node takes its time."""
    for _attempt in range(30):
        try:
            return call()
        except pymysql.MySQLError:
            time.sleep(1)
    return call()


def remembered(db: Database) -> bytes:
    """Return what the collection keeps, made from what HAKeeper says."""
    with HAKeeper(
        discovery=db.log_stores[:1], addresses=db.log_stores, reach=Reach.MACHINE
    ) as hakeeper:
        tn = hakeeper.cluster_details(Deadline.after(20)).serving_tn()
        log_shards = hakeeper.cluster_state(Deadline.after(20)).log_shard_of
    assert tn is not None
    shards = [TNShard(0, shard, log_shards[shard], replica) for shard, replica in tn.shards.items()]
    return shard_file(tn.uuid, _ADDRESS, shards)


def test_what_is_kept_is_what_the_node_wrote(db: Database) -> None:
    assert remembered(db) == (db.folder / "tn" / "tnservice" / TN_UUID).read_bytes()


def test_a_node_that_remembers_its_shard_loses_nothing(db: Database) -> None:
    for _attempt in range(_TRIES):
        assert replaced(db, remembered(db)) == set()


def test_matrixone_loses_rows_when_the_node_forgets(db: Database) -> None:
    """When this fails, MatrixOne has been mended: docs/change.md says otherwise."""
    assert any(replaced(db, b"") for _attempt in range(_TRIES))
