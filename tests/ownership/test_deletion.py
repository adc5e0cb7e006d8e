# SPDX-License-Identifier: Apache-2.0
"""What is deleted, in which order, and what stays."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.layout import (
    is_of_backup,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    deletion,
    taking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership.errors import (
    Foreign,
    Superseded,
)

from .stores import Bucket, MemoryStore, put
from .test_taking import mark, no_sleep


def hold_of(bucket: Bucket, page: int = 2) -> taking.Hold:
    return taking.take(MemoryStore(bucket, "b/mo", page=page), mark(), no_sleep)


def clear(hold: taking.Hold) -> list[str]:
    return deletion.clear(hold, is_of_backup, lambda _count: None, no_sleep)


def test_own_files_go_and_unknown_ones_stay() -> None:
    bucket = Bucket()
    hold = hold_of(bucket)
    own = ["tae/a", "tae/ckp/b", "hakeeper/hk_data", "mo_meta", "mo_meta.sha256", "config/c",
           "matrixone-backup.sha256", ".tmp.123"]  # fmt: skip
    for key in (*own, "notes.txt", "taexx/d", "photos/e"):
        put(bucket, f"b/mo/{key}")
    put(bucket, "b/mo-2/tae/x")
    assert clear(hold) == ["notes.txt", "photos/e", "taexx/d"]
    deletion.release(hold, no_sleep)
    assert sorted(bucket.objects) == ["b/mo-2/tae/x", "b/mo/notes.txt", "b/mo/photos/e",
                                      "b/mo/taexx/d"]  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        "b/mo/prod/nightly/matrixone-backup.json",
        "b/mo/tae/matrixone-owner.json",
        "b/mo/tae/ckp/matrixone-backup.attempt.json",
        "b/mo/matrixone-restore.json",
    ],
)
def test_something_of_others_below_ends_it_before_anything_is_deleted(key: str) -> None:
    bucket = Bucket()
    hold = hold_of(bucket)
    put(bucket, "b/mo/tae/a")
    put(bucket, key)
    before = dict(bucket.objects)
    with pytest.raises(Foreign, match="holds"):
        clear(hold)
    assert bucket.objects == before


def test_what_comes_in_between_ends_it_before_the_next_page() -> None:
    """Others that know nothing of marks begin in a folder while its files are being deleted."""
    bucket = Bucket()
    hold = hold_of(bucket)
    for number in range(6):
        put(bucket, f"b/mo/tae/{number}")

    def advance(_count: int) -> None:
        put(bucket, "b/mo/tae/matrixone-backup.json")

    with pytest.raises(Foreign, match="a backup"):
        deletion.clear(hold, is_of_backup, advance, no_sleep)
    assert sum(key.startswith("b/mo/tae/") for key in bucket.objects) == 6


def test_another_attempt_ends_it_before_the_next_page() -> None:
    bucket = Bucket()
    hold = hold_of(bucket)
    for number in range(6):
        put(bucket, f"b/mo/tae/{number}")

    def advance(_count: int) -> None:
        taking.take(MemoryStore(bucket, "b/mo"), mark(nonce="bb"), no_sleep)

    with pytest.raises(Superseded):
        deletion.clear(hold, is_of_backup, advance, no_sleep)
    assert sum(key.startswith("b/mo/tae/") for key in bucket.objects) == 5


def test_many_folders_in_a_page() -> None:
    bucket = Bucket()
    hold = hold_of(bucket, page=1000)
    for number in range(200):
        put(bucket, f"b/mo/tae/{number}/x")
    assert clear(hold) == []
    put(bucket, "b/mo/tae/5/matrixone-backup.json")
    put(bucket, "b/mo/tae/5/x")
    with pytest.raises(Foreign):
        clear(hold)
