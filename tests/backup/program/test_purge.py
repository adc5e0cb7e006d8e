# SPDX-License-Identifier: Apache-2.0
"""The copy of a backup that was made to be read is deleted, and nothing else is."""

import json
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Phase,
    Reason,
    Task,
    Verb,
)

from testbed.object_store import ObjectStore

from . import written
from .pods import Pods, bucket, keys_of

pytestmark = pytest.mark.rpc


@pytest.fixture
def pods(server: ObjectStore, tmp_path: Path) -> Pods:
    return Pods(tmp_path, keys_of(server))


def fill(pods: Pods, server: ObjectStore, address: str, owner: str | None) -> None:
    """Write what a restore of that id and the database after it leave in a prefix."""
    store = pods.store(bucket(server, address))
    for key in ("data/one", "data/two", "etl/system/x", "hk_data"):
        store.write(key, [b"12345"], 5)
    if owner:
        mark = {"task": owner, "state": "Done", "backup": "b-1"}  # as earlier releases have it
        text = json.dumps(mark).encode()
        store.write("matrixone-restore.json", [text], len(text))


def keys(pods: Pods, server: ObjectStore, address: str) -> set[str]:
    return {one.key for one in pods.store(bucket(server, address)).entries()}


def purge(server: ObjectStore, address: str) -> Task:
    return Task(Verb.PURGE, "proof", target=bucket(server, address), expected_id="cluster-1")


def test_own_copy(server: ObjectStore, pods: Pods) -> None:
    """The neighbour's name begins alike; a second purge finds nothing and succeeds."""
    fill(pods, server, "data/own", "cluster-1")
    fill(pods, server, "data/own-2", "cluster-2")

    ended = pods.attempt(purge(server, "data/own"))

    assert (ended.code, ended.result.phase) == (0, Phase.SUCCEEDED), ended
    assert keys(pods, server, "data/own") == set()
    assert len(keys(pods, server, "data/own-2")) == 5
    assert pods.attempt(purge(server, "data/own")).code == 0


@pytest.mark.parametrize("owner", ["cluster-2", None])
def test_what_is_not_its_own(server: ObjectStore, pods: Pods, owner: str | None) -> None:
    address = f"data/foreign-{owner}"
    fill(pods, server, address, owner)
    before = keys(pods, server, address)

    ended = pods.attempt(purge(server, address))

    assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY)
    assert keys(pods, server, address) == before


def test_the_mark_goes_last(server: ObjectStore, pods: Pods) -> None:
    """What was killed in the middle can go on."""
    fill(pods, server, "data/half", "cluster-1")
    store = pods.store(bucket(server, "data/half"))
    written.erase(store, "data/one", "hk_data")

    assert pods.attempt(purge(server, "data/half")).code == 0
    assert keys(pods, server, "data/half") == set()


def test_a_whole_bucket_is_never_purged(server: ObjectStore, pods: Pods) -> None:
    ended = pods.attempt(purge(server, "data"))

    assert (ended.code, ended.result.reason) == (2, Reason.INVALID_TASK)
