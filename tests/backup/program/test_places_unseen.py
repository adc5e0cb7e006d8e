# SPDX-License-Identifier: Apache-2.0
"""A place that cannot be seen says nothing of the backup in it."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.manifest import Base
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    as_failure,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.progress import (
    Progress,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.verifying import (
    verify,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import Reason
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification import (
    verdicts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
)

from tests.backup.program import written

OLD, NEW = {"old_00000": b"old" * 900}, {"a_00000": b"new" * 900}


def reason_of(place: Path, opened: type[FolderStore] = FolderStore) -> Reason | None:
    """Return why a backup in a folder cannot be verified; None if it can."""

    def opener(location: Location) -> FolderStore:
        assert isinstance(location, FolderLocation)
        return opened(location.path)

    location = FolderLocation(str(place), str(place))
    try:
        verify(location, None, opener, 1, Progress(lambda *_: None, time.monotonic() + 30))
    except Exception as error:  # noqa: BLE001
        return as_failure(error).reason
    return None


def result_of(reason: Reason | None) -> str:
    return str(verdicts.verdict("job", "", "2026-01-01T00:00:00Z", reason or "")["result"])


@pytest.fixture
def volumes(tmp_path: Path) -> tuple[Path, Path]:
    """A full backup on one volume, and one that continues it on another."""
    first, second = tmp_path / "first" / "full", tmp_path / "second" / "more"
    written.backup(FolderStore(str(first)), "b1", OLD)
    base = Base(str(first), "b1")
    written.backup(FolderStore(str(second)), "b2", NEW, older=OLD, base=base)
    return first, second


def test_what_is_there_is_found_whole(volumes):
    assert [reason_of(place) for place in volumes] == [None, None]


@pytest.mark.parametrize("empty", [False, True], ids=["no mount point", "an empty mount point"])
def test_a_volume_that_is_not_mounted_is_no_damage(volumes, empty):
    full, _more = volumes
    shutil.rmtree(full.parent)
    if empty:
        full.mkdir(parents=True)
    assert [reason_of(place) for place in volumes] == [Reason.TARGET_MISSING] * 2
    assert result_of(Reason.TARGET_MISSING) == verdicts.INCOMPLETE


def test_files_without_a_record_are_damaged(volumes):
    full, _more = volumes
    (full / "matrixone-backup.json").unlink()
    assert reason_of(full) is Reason.OBJECT_MISSING
    assert result_of(Reason.OBJECT_MISSING) == verdicts.FAILED


def test_a_base_that_is_missing_beside_is_damage(tmp_path):
    full, more = tmp_path / "v" / "full", tmp_path / "v" / "more"
    written.backup(FolderStore(str(full)), "b1", OLD)
    written.backup(FolderStore(str(more)), "b2", NEW, older=OLD, base=Base(str(full), "b1"))
    shutil.rmtree(full)
    assert reason_of(more) is Reason.CHAIN_BROKEN


def test_a_volume_that_goes_away_in_the_middle_is_no_damage(volumes):
    full, _more = volumes

    class Leaving(FolderStore):
        def read(self, key: str) -> Iterator[bytes]:
            if key.startswith("tae/old"):
                shutil.rmtree(full.parent, ignore_errors=True)
            yield from super().read(key)

    assert reason_of(full, Leaving) is Reason.TARGET_MISSING


def test_a_file_that_is_missing_is_damage(volumes):
    full, more = volumes
    (full / "tae" / "old_00000").unlink()
    assert reason_of(full) is Reason.OBJECT_MISSING
    assert reason_of(more) is Reason.CHAIN_BROKEN
