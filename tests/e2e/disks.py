# SPDX-License-Identifier: Apache-2.0
"""Small file systems below volumes and buckets, which can be filled, set read-only and closed."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.bed import TestBed
from testbed.processes import find
from tests.support.waiting import eventually

SMALL_DISKS = "small-disks"
"""The StorageClass of volumes on such file systems; nothing provides others of it."""
_MEBIBYTES = 1024
_REMOUNT_SECONDS = 20.0
_TOP_UP_SECONDS = 0.2
_FILLING = "filling"
_BLOCK_BYTES = 4096

Json = dict[str, Any]


@dataclass(frozen=True)
class Disk:
    """A file system in memory at a path, as a process sees it.

    Attributes:
        process: whose mount namespace has it; the kernel removes it with that namespace.
        path: where it is mounted there.
    """

    process: int
    path: Path

    @property
    def root(self) -> Path:
        """Where this process finds its files."""
        return Path(f"/proc/{self.process}/root{self.path}")

    def _mount(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        enter = ["nsenter", f"--target={self.process}", "--mount", "--"]
        return subprocess.run(
            [*enter, *arguments, str(self.path)],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    @contextmanager
    def mounted(self) -> Iterator["Disk"]:
        """Mount it for the block; any user may write to it."""
        Path(f"/proc/{self.process}/root{self.path}").mkdir(parents=True, exist_ok=True)
        made = self._mount("mount", "-t", "tmpfs", "-o", f"size={_MEBIBYTES}m,mode=0777", "faults")
        assert made.returncode == 0, made.stderr
        try:
            yield self
        finally:
            # Lazily: Pods that are being deleted may have files open.
            self._mount("umount", "--lazy")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no free byte for the block; what is deleted meanwhile is taken, too."""
        over = threading.Event()
        filling = self.root / _FILLING
        filling.touch()

        def take() -> None:
            with filling.open("ab") as file:
                size = os.fstat(file.fileno()).st_size
                part = _MEBIBYTES << 20
                while part >= _BLOCK_BYTES:
                    try:
                        os.posix_fallocate(file.fileno(), size, part)
                        size += part
                    except OSError:  # no space for so much
                        part //= 2

        def top_up() -> None:
            while not over.wait(_TOP_UP_SECONDS):
                take()

        take()
        thread = threading.Thread(target=top_up)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            filling.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse writes for the block; it begins when no file is open for writing."""
        eventually(
            lambda: self._mount("mount", "-o", "remount,ro").returncode == 0,
            _REMOUNT_SECONDS,
            f"{self.path} read-only",
        )
        try:
            yield
        finally:
            back = self._mount("mount", "-o", "remount,rw")
            assert back.returncode == 0, back.stderr

    @contextmanager
    def write_protected(self) -> Iterator[None]:
        """Let nobody but root open a file for writing, or make one, for the block.

        The Pods have files open for writing, so that it cannot be set read-only.
        """
        modes: dict[Path, int] = {}
        try:
            for path in (self.root, *self.root.rglob("*")):
                with suppress(FileNotFoundError):  # the database deletes files, too
                    modes[path] = path.stat().st_mode
                    path.chmod(modes[path] & 0o555)
            yield
        finally:
            for path, mode in modes.items():
                with suppress(FileNotFoundError):
                    path.chmod(mode)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let nobody but root reach any file of it for the block."""
        self.root.chmod(0o000)
        try:
            yield
        finally:
            self.root.chmod(0o777)


def on_node(bed: TestBed, name: str) -> Disk:
    """Return a file system of the first node, which volumes of Pods can be on; it is not mounted."""
    first = find(bed.places, "node-0")
    assert first is not None
    return Disk(first.pid, Path("/var/lib/small-disks") / name)


def volume(disk: Disk, namespace: str, claim: str) -> Json:
    """Return a PersistentVolume on a file system, for one claim only."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{claim}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": namespace, "name": claim},
            "hostPath": {"path": str(disk.path), "type": "Directory"},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": SMALL_DISKS,
        },
    }
