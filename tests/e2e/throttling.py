# SPDX-License-Identifier: Apache-2.0
"""Processes that get a part of a core: control groups of the kernel, version 1 and 2."""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.support.waiting import eventually

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_MICROSECONDS = 100_000
_IS_UNIFIED = (_ROOT / "cgroup.controllers").exists()
_CPU = _ROOT if _IS_UNIFIED else _ROOT / "cpu"


@contextmanager
def pods_throttled(processes: Iterable[int], cores: float) -> Iterator[None]:
    """Let the container of each process have a part of a core for the block, as a limit does."""
    with ExitStack() as limits:
        for process in processes:
            limits.enter_context(_limited(_group_of(process), cores))
        yield


@contextmanager
def process_throttled(process: int, cores: float) -> Iterator[None]:
    """Let a process with all that it starts have a part of a core for the block."""
    group = _CPU / f"throttled-{secrets.token_hex(4)}"
    former = _group_of(process)
    group.mkdir()
    try:
        _move(_with_descendants(process), group)
        with _limited(group, cores):
            yield
    finally:
        eventually(lambda: _emptied(group, former), 30, "control group without processes")


def _emptied(group: Path, former: Path) -> bool:
    _move(map(int, (group / "cgroup.procs").read_text().split()), former)
    try:
        group.rmdir()
    except OSError:  # one has started meanwhile, or just ends
        return False
    return True


@contextmanager
def _limited(group: Path, cores: float) -> Iterator[None]:
    quota = round(cores * _PERIOD_MICROSECONDS)
    setting = group / ("cpu.max" if _IS_UNIFIED else "cpu.cfs_quota_us")
    before = setting.read_text()
    setting.write_text(f"{quota} {_PERIOD_MICROSECONDS}" if _IS_UNIFIED else str(quota))
    try:
        yield
    finally:
        with suppress(OSError):  # the Pod may be gone
            setting.write_text(before)


def _group_of(process: int) -> Path:
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _number, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(",") or (_IS_UNIFIED and not controllers):
            return _CPU / path.lstrip("/")
    raise AssertionError(f"process {process} is in no control group for CPU")


def _move(processes: Iterable[int], group: Path) -> None:
    for process in processes:
        with suppress(OSError):  # it has just ended
            (group / "cgroup.procs").write_text(str(process))


def _with_descendants(process: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found
