# SPDX-License-Identifier: Apache-2.0
"""One path in a bucket is one database's, whichever Kubernetes cluster its claim is in."""

from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.owners import Owner
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import FILE
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Reason,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore as Store,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    marks,
    neighbours,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.errors import (
    Foreign,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.marks import Mark

from testbed.object_store import ObjectStore

from .pods import Ended, Pods, bucket, keys_of

pytestmark = pytest.mark.rpc

MARK = "matrixone-owner.json"


@pytest.fixture
def pods(server: ObjectStore, tmp_path: Path) -> Pods:
    return Pods(tmp_path, keys_of(server))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return f"data/{tmp_path.name}"


def owner(name: str, uid: str = "") -> Owner:
    return Owner("BucketClaim", "prod", f"bucket-{name}", uid or f"uid-{name}")


def claim(server: ObjectStore, path: str, name: str, uid: str = "", **more: Owner) -> Task:
    own = owner(name, uid)
    return Task(Verb.CLAIM, own.uid, owner=own, target=bucket(server, path), **more)  # type: ignore[arg-type]


def reclaim(task: Task) -> Task:
    return replace(task, verb=Verb.RECLAIM, predecessor=None)


def keys(pods: Pods, server: ObjectStore, path: str) -> set[str]:
    return {one.key for one in pods.store(bucket(server, path)).entries()}


def store_of(pods: Pods, server: ObjectStore, path: str) -> Store:
    return pods.store(bucket(server, path))


def write(store: Store, *names: str) -> None:
    for name in names:
        store.write(name, [b"12345"], 5)


def assert_refused(ended: Ended, *words: str) -> None:
    assert (ended.code, ended.result.reason) == (2, Reason.TARGET_NOT_EMPTY), ended
    assert all(word in ended.result.message for word in words), ended.result.message


def test_a_free_path(server: ObjectStore, pods: Pods, path: str) -> None:
    """An attempt that is made again, as after a Pod was lost, takes over from the first one."""
    assert pods.attempt(claim(server, path, "a")).code == 0
    assert keys(pods, server, path) == {MARK}
    assert pods.attempt(claim(server, path, "a")).code == 0
    assert marks.latest(store_of(pods, server, path), marks.OWNER)[0] == 2


def test_the_process_of_the_pod(server: ObjectStore, pods: Pods, path: str) -> None:
    assert pods.run(claim(server, path, "a")).code == 0
    assert keys(pods, server, path) == {MARK}


def test_data_without_a_mark(server: ObjectStore, pods: Pods, path: str) -> None:
    """A database of an earlier release has written there; it goes on doing so."""
    write(store_of(pods, server, path), "data/one", "etl/two")
    assert pods.attempt(claim(server, path, "a")).code == 0
    assert keys(pods, server, path) == {MARK, "data/one", "etl/two"}


@pytest.mark.parametrize("below", ["", "/inside", "/inside/deeper"])
def test_a_path_of_another_database(server: ObjectStore, pods: Pods, path: str, below: str) -> None:
    """By whichever name of the server, and around and inside it as well."""
    assert pods.attempt(claim(server, f"{path}{below}", "a")).code == 0
    task = claim(server, path, "b")
    other = bucket(server, path)
    other = replace(other, endpoint=other.endpoint.replace("127.0.0.1", "localhost"))
    assert other.endpoint != bucket(server, path).endpoint
    assert_refused(pods.attempt(replace(task, target=other)), MARK if below else "prod/bucket-a")
    inside = replace(task, target=other.below("x"))
    if not below:
        assert_refused(pods.attempt(inside), MARK)
    assert all("bucket-b" not in str(one) for one in _all_marks(pods, server, path))


def _all_marks(pods: Pods, server: ObjectStore, path: str) -> list[Mark | None]:
    store = store_of(pods, server, path)
    return [marks.read(store, one.key) for one in store.entries()]


def test_a_path_that_was_kept(server: ObjectStore, pods: Pods, path: str) -> None:
    """The next database keeps the uid of the mark; the one before it has nothing any more."""
    first = claim(server, path, "a")
    assert pods.attempt(first).code == 0
    second = claim(server, path, "b", "uid-a", predecessor=owner("a"))
    assert pods.attempt(second).code == 0
    assert pods.attempt(second).code == 0
    assert_refused(pods.attempt(first), "prod/bucket-b")
    assert_refused(pods.attempt(reclaim(first)), "prod/bucket-b")
    # Nor has another one that follows the first, as in a Kubernetes cluster that still knows it.
    third = claim(server, path, "c", "uid-a", predecessor=owner("a"))
    assert_refused(pods.attempt(third), "prod/bucket-b")
    assert pods.attempt(reclaim(second)).code == 0
    assert keys(pods, server, path) == set()


def test_a_path_that_somebody_adopts(server: ObjectStore, pods: Pods, path: str) -> None:
    """Its claim is gone, or in another Kubernetes cluster; the id of the mark must be given."""
    assert pods.attempt(claim(server, path, "a")).code == 0
    wrong = claim(server, path, "b", "uid-x", predecessor=Owner(uid="uid-x"))
    assert_refused(pods.attempt(wrong), "prod/bucket-a", "uid-a")
    right = claim(server, path, "b", "uid-a", predecessor=Owner(uid="uid-a"))
    assert pods.attempt(right).code == 0


def test_a_restored_database(server: ObjectStore, pods: Pods, path: str) -> None:
    """The copy is the database's once it is whole, and goes with it."""
    store = store_of(pods, server, path)
    running = Mark(Owner("RestoreJob", "prod", "r", "u"), "u", state=marks.RUNNING, backup="b")
    store.write("matrixone-restore.json", [content := marks.to_json(running)], len(content))
    write(store, "data/one")
    assert_refused(pods.attempt(claim(server, path, "a")), "restore", "has not ended")
    done = marks.to_json(replace(running, state=marks.DONE))
    store.write("matrixone-restore.json", [done], len(done))
    assert pods.attempt(claim(server, path, "a")).code == 0
    assert pods.attempt(reclaim(claim(server, path, "a"))).code == 0
    assert keys(pods, server, path) == set()


def test_nothing_else_is_made_where_a_database_is(
    server: ObjectStore, pods: Pods, path: str
) -> None:
    assert pods.attempt(claim(server, path, "a")).code == 0
    inside = store_of(pods, server, f"{path}/backups/one")
    with pytest.raises(Foreign, match=MARK):
        neighbours.require_none_around(inside)
    with pytest.raises(Foreign, match=MARK):
        neighbours.require_empty(store_of(pods, server, path))


def test_a_backup_inside(server: ObjectStore, pods: Pods, path: str) -> None:
    write(store_of(pods, server, path), f"kept/full/{FILE}")
    assert_refused(pods.attempt(claim(server, path, "a")), f"kept/full/{FILE}")
    assert MARK not in keys(pods, server, path)


def test_a_whole_bucket(server: ObjectStore, pods: Pods) -> None:
    server.make_bucket("claimed")
    write(store_of(pods, server, "claimed"), "data/a", "etl/b", "pictures/c")
    task = claim(server, "claimed", "a")
    assert pods.attempt(task).code == 0
    assert_refused(pods.attempt(reclaim(claim(server, "claimed", "b"))), "prod/bucket-a")
    assert pods.attempt(reclaim(task)).code == 0
    assert keys(pods, server, "claimed") == {"pictures/c"}


def test_a_bucket_that_does_not_exist(server: ObjectStore, pods: Pods) -> None:
    ended = pods.attempt(claim(server, "nowhere/mo", "a"))
    assert (ended.code, ended.result.reason) == (2, Reason.TARGET_MISSING)
