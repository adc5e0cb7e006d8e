# SPDX-License-Identifier: Apache-2.0
"""A folder as an object store, on real file systems."""

import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import (
    errors,
    interface,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.folder import (
    FolderStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    Erasable,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "volume" / "backup"


@pytest.fixture
def store(root: Path) -> FolderStore:
    root.parent.mkdir()
    return FolderStore(str(root))


def keys(store: FolderStore, prefix: str = "") -> dict[str, int]:
    return {entry.key: entry.size for entry in store.entries(prefix)}


def erased(store: FolderStore) -> list[str]:
    """Delete everything, and return the keys."""
    found = []
    for page in store.erasable():
        store.erase(page)
        found += [item.key for item in page]
    store.tidy()
    return found


def content(store: FolderStore, key: str) -> bytes:
    return b"".join(store.read(key))


def test_what_is_written_is_listed_and_read(store: FolderStore) -> None:
    store.require()
    assert keys(store) == {}
    large = os.urandom(interface.CHUNK + 17)
    store.write("tae/ckp/a", [b"one", b"two"], 6)
    store.write("tae/b", [large], len(large))
    store.write("empty", [], 0)
    store.flush()
    assert keys(store) == {"tae/ckp/a": 6, "tae/b": len(large), "empty": 0}
    assert keys(store, "tae/ckp/") == {"tae/ckp/a": 6}
    assert content(store, "tae/ckp/a") == b"onetwo"
    assert [len(piece) for piece in store.read("tae/b")] == [interface.CHUNK, 17]
    assert content(store, "empty") == b""
    assert (store.size("tae/b"), store.size("nothing"), store.size("empty/x")) == (
        len(large), None, None,
    )  # fmt: skip


def test_a_write_that_fails_leaves_the_older_file_alone(store: FolderStore) -> None:
    store.write("a", [b"old"], 3)

    def pieces() -> Iterator[bytes]:
        yield b"ne"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write("a", pieces(), 3)
    with pytest.raises(errors.Refused, match="4 bytes instead of 3"):
        store.write("a", [b"newe"], 3)
    assert content(store, "a") == b"old"
    assert keys(store) == {"a": 3}


def test_what_a_killed_process_leaves_is_not_listed_but_cleared(
    store: FolderStore, root: Path
) -> None:
    store.write("a", [b"1"], 1)
    (root / ".matrixone-0011").write_bytes(b"half")
    assert keys(store) == {"a": 1}
    assert len(erased(store)) == 2
    assert not root.exists()


def test_absent_files(store: FolderStore) -> None:
    with pytest.raises(errors.Absent, match="a in folder"):
        content(store, "a")
    store.erase([Erasable("a"), Erasable("b/c")])
    assert erased(store) == []


def test_the_volume_is_missing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in ("/no-volume/backup", str(tmp_path / "file" / "backup")):
        with pytest.raises(errors.StoreAbsent, match="is the volume mounted"):
            FolderStore(path).require()
    FolderStore(str(tmp_path / "schedule" / "first")).require()


@pytest.mark.parametrize("key", ["../a", "/etc/passwd", "a/../../b"])
def test_no_key_leads_out_of_the_folder(store: FolderStore, key: str) -> None:
    for attempt in (lambda: content(store, key), lambda: store.write(key, [b""], 0)):
        with pytest.raises(errors.Refused, match="no key"):
            attempt()


def test_links_are_neither_followed_nor_spare_their_target(
    store: FolderStore, root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    store.write("a", [b"1"], 1)
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "kept")
    with pytest.raises(errors.StoreError):
        content(store, "file")
    assert set(keys(store)) == {"a", "folder", "file"}
    assert erased(store)
    assert (outside / "kept").read_text() == "x"
    assert not root.exists()


def test_a_volume_keeps_what_its_file_system_has(store: FolderStore, root: Path) -> None:
    (root / "lost+found").mkdir(parents=True)
    store.write("a/b", [b"1"], 1)
    assert keys(store) == {"a/b": 1}
    erased(store)
    assert [path.name for path in root.iterdir()] == ["lost+found"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
def test_a_full_volume_and_one_that_is_read_only(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", volume], check=True)
    try:
        store = FolderStore(str(volume / "backup"))
        store.write("a", [b"1"], 1)
        with pytest.raises(errors.Full, match="No space left"):
            store.write("b", [bytes(2 << 20)], 2 << 20)
        assert keys(store) == {"a": 1}
        subprocess.run(["mount", "-o", "remount,ro", volume], check=True)
        with pytest.raises(errors.Forbidden, match="Read-only"):
            store.write("c", [b"1"], 1)
    finally:
        subprocess.run(["umount", volume], check=True)


def test_small_objects_are_small(store: FolderStore) -> None:
    store.write("a", [b"12345"], 5)
    assert interface.read_small(store, "a", 5) == b"12345"
    with pytest.raises(ValueError, match="more than 4 bytes"):
        interface.read_small(store, "a", 4)


@pytest.mark.parametrize("key", ["taken/mark", "taken/a/mark"])
def test_a_file_where_a_folder_should_be_is_no_mark(store: FolderStore, key: str) -> None:
    store.write("taken", [b"x"], 1)
    with pytest.raises(errors.Refused, match="Not a directory"):
        store.create(key, b"x")


def test_a_folder_that_another_attempt_tidies_up(store: FolderStore) -> None:
    """In threads: what is empty for a moment is removed, and made again."""
    ended = threading.Event()

    def tidy() -> None:
        while not ended.is_set():
            store.tidy()

    with ThreadPoolExecutor(1) as pool:
        tidying = pool.submit(tidy)
        try:
            for number in range(300):
                store.require()
                assert store.create("a/b/mark", b"x")
                store.erase([Erasable("a/b/mark")])
                store.write("c/d/file", [b"x"], 1)
                assert keys(store) == {"c/d/file": 1}, number
                store.erase([Erasable("c/d/file")])
        finally:
            ended.set()
    tidying.result()


def test_files_that_are_deleted_while_they_are_listed(store: FolderStore) -> None:
    """In threads: what stays is listed, what goes is listed or not."""
    ended = threading.Event()
    store.write("stays", [b"x"], 1)

    def change() -> None:
        while not ended.is_set():
            for name in ("0", "1", "2"):
                store.write(name, [b"x"], 1)
            store.erase([Erasable(name) for name in ("0", "1", "2")])

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change)
        try:
            for _ in range(300):
                assert keys(store).items() >= {"stays": 1}.items()
        finally:
            ended.set()
    changing.result()
