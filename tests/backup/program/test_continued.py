# SPDX-License-Identifier: Apache-2.0
"""A backup that another one near it continues is not deleted, whether or not that has an object."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import (
    Base,
    Manifest,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.continued import (
    require_last,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    TaskFailed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import Reason
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.errors import (
    Forbidden,
    Unreachable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore,
)

from tests.backup.program import written
from tests.ownership.stores import Bucket, MemoryStore

FILES = {"a_00000": b"a" * 900}
Open = Callable[[str], ObjectStore]


@pytest.fixture(params=["bucket", "folder"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Open the store of a path."""
    if request.param == "folder":
        return lambda path: FolderStore(str(tmp_path / path))
    bucket = Bucket()
    return lambda path: MemoryStore(bucket, path)


def make(opened: Open, path: str, name: str, base: str = "") -> Manifest:
    on = Base("anywhere", base) if base else None
    return written.backup(opened(path), name, FILES, base=on)


def problem(opened: Open, path: str, record: Manifest) -> str:
    """Return why a backup is not deleted; empty if it may be."""
    try:
        require_last(opened(path), record)
    except TaskFailed as error:
        return str(error) if error.reason is Reason.CHAIN_BROKEN else error.reason.value
    return ""


@pytest.mark.parametrize("place", ["root/prod/nightly/2", "root/prod/nightly/deeper/2"])
def test_what_is_continued_near_it_stays(opened, place):
    full = make(opened, "root/prod/nightly/1", "b1")
    make(opened, "root/prod/nightly/0", "b0")
    assert problem(opened, "root/prod/nightly/1", full) == ""
    more = make(opened, place, "b2", base="b1")
    assert "continues it; delete that one first" in problem(opened, "root/prod/nightly/1", full)
    assert problem(opened, place, more) == ""


def test_a_record_that_cannot_be_read_may_continue_it(opened):
    full = make(opened, "root/1", "b1")
    written.put(opened("root/2"), manifest.FILE, b'{"formatVersion": 2}')
    assert "cannot be read, and may continue this backup" in problem(opened, "root/1", full)


def test_files_of_others_are_no_backups(opened):
    full = make(opened, "root/1", "b1")
    written.put(opened("root"), "notes.txt", b"notes")
    written.put(opened("root/data"), "tae/x", b"x")
    assert problem(opened, "root/1", full) == ""


def test_credentials_for_one_prefix_may_not_look_around():
    bucket = Bucket()
    full = make(lambda path: MemoryStore(bucket, path), "root/1", "b1")

    def refuse(request: str) -> None:
        raise Forbidden(request)

    require_last(MemoryStore(bucket, "root/1", refuse), full)


def test_a_store_that_does_not_answer_lets_nothing_be_deleted():
    bucket = Bucket()
    full = make(lambda path: MemoryStore(bucket, path), "root/1", "b1")

    def lose(request: str) -> None:
        raise Unreachable(request)

    with pytest.raises(Unreachable):
        require_last(MemoryStore(bucket, "root/1", lose), full)
