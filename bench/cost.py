# SPDX-License-Identifier: Apache-2.0
"""What a tree of processes costs: CPU time with all ended children, and memory."""

import os
import threading
from collections import defaultdict
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAMPLE_SECONDS = 0.25


def tree(root: int) -> list[int]:
    """Pids of a process and all its descendants that run."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        fields = _stat(int(entry.name))
        if fields:
            children[int(fields[1])].append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children[pid]
    return found


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/<pid>/stat`` behind the name; empty when the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def cpu_seconds(root: int) -> float:
    """User and system time of a tree, ended and reaped descendants included.

    Exact as long as every descendant is reaped inside of the tree: ``bench.reaper`` sees to it.
    """
    ticks = 0
    for pid in tree(root):
        fields = _stat(pid)
        if fields:
            ticks += sum(int(value) for value in fields[11:15])
    return ticks / _TICK


def memory_mebibytes(root: int) -> float:
    """Proportional set size of a tree: shared pages count once in all."""
    kibibytes = 0
    for pid in tree(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        kibibytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kibibytes / 1024


def resident_mebibytes(root: int) -> float:
    """Resident set size of a tree: shared pages count in each process."""
    pages = 0
    for pid in tree(root):
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pages * _PAGE / 2**20


class Peak:
    """Samples the memory of a tree while the block runs.

    The kernel goes through all pages of a process to tell its proportional set size, which slows
    down what is measured, the more the more processes it has. So it is asked only when the resident
    set size has grown by one hundredth.

    Attributes:
        mebibytes: the highest sample.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self.mebibytes = 0.0
        self._resident = 0.0

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self._note()

    def _sample(self) -> None:
        while not self._end.wait(_SAMPLE_SECONDS):
            resident = resident_mebibytes(self._root)
            if resident > 1.01 * self._resident:
                self._resident = resident
                self._note()

    def _note(self) -> None:
        self.mebibytes = max(self.mebibytes, memory_mebibytes(self._root))
