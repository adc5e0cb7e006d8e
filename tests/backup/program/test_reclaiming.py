# SPDX-License-Identifier: Apache-2.0
"""What a database has written below its path in a bucket is deleted, and nothing else is."""

from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import FILE
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Phase,
    Reason,
    Step,
    Task,
    Verb,
)

from testbed.object_store import ObjectStore

from .pods import Pods, bucket, keys_of

pytestmark = pytest.mark.rpc


@pytest.fixture
def pods(server: ObjectStore, tmp_path: Path) -> Pods:
    return Pods(tmp_path, keys_of(server))


def fill(pods: Pods, server: ObjectStore, address: str, *keys: str) -> None:
    store = pods.store(bucket(server, address))
    for key in keys or ("data/one", "data/two", "etl/system/x", "hk_data"):
        store.write(key, [b"12345"], 5)


def keys(pods: Pods, server: ObjectStore, address: str) -> set[str]:
    return {one.key for one in pods.store(bucket(server, address)).entries()}


def reclaim(server: ObjectStore, address: str) -> Task:
    return Task(Verb.RECLAIM, "claim", target=bucket(server, address))


def test_a_prefix(server: ObjectStore, pods: Pods) -> None:
    """The neighbour's name begins alike; a second attempt finds nothing and succeeds."""
    fill(pods, server, "data/mo")
    fill(pods, server, "data/mo-2")

    ended = pods.attempt(reclaim(server, "data/mo"))

    assert (ended.code, ended.result.phase) == (0, Phase.SUCCEEDED), ended
    assert keys(pods, server, "data/mo") == set()
    assert len(keys(pods, server, "data/mo-2")) == 4
    assert pods.attempt(reclaim(server, "data/mo")).code == 0


def test_a_whole_bucket(server: ObjectStore, pods: Pods) -> None:
    """Only the folders of a database are its own; others may have the rest."""
    server.make_bucket("whole")
    fill(pods, server, "whole", "data/a", "etl/b", "pictures/c", f"backups/full/{FILE}")

    assert pods.attempt(reclaim(server, "whole")).code == 0
    assert keys(pods, server, "whole") == {"pictures/c", f"backups/full/{FILE}"}


def test_a_backup_inside(server: ObjectStore, pods: Pods) -> None:
    fill(pods, server, "data/around", "data/a", f"kept/full/{FILE}")

    ended = pods.attempt(reclaim(server, "data/around"))

    assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    assert f"holds a backup (kept/full/{FILE})" in ended.result.message
    assert len(keys(pods, server, "data/around")) == 2


def test_an_absent_bucket(server: ObjectStore, pods: Pods) -> None:
    """Nothing is left of a database whose bucket is gone."""
    assert pods.attempt(reclaim(server, "nowhere/mo")).code == 0


def test_progress(server: ObjectStore, pods: Pods) -> None:
    fill(pods, server, "data/many", *(f"data/{number}" for number in range(1500)))

    ended = pods.run(reclaim(server, "data/many"))

    assert ended.code == 0
    assert (ended.result.step, ended.result.done.files) == (Step.DELETE, 1500)
    assert (ended.result.total.files, ended.result.total.bytes) == (1500, 7500)
