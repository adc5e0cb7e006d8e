# SPDX-License-Identifier: Apache-2.0
"""A small program that starts one process of a test bed and records it first.

It reads a JSON object from standard input (see ``processes.start``), forks, writes the record of
the child, and only then lets the child execute its command: no process of a test bed ever runs
unrecorded, whatever kills the caller. It can put the child into new namespaces (a node's first
process) or into those of a running process (everything else on that node).

Run with ``python -I -S``; imports the standard library only, to start in milliseconds.
"""

import ctypes
import fcntl
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

_CLONE_FLAGS = {
    "mnt": 0x00020000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}


def _checked(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _join(libc: ctypes.CDLL, pid: int) -> None:
    descriptors = {
        kind: os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in _CLONE_FLAGS
    }
    for kind, descriptor in descriptors.items():
        _checked(libc.setns(descriptor, _CLONE_FLAGS[kind]), f"setns {kind} of {pid}")


def _start_time(proc: int, pid: int) -> int:
    descriptor = os.open(f"{pid}/stat", os.O_RDONLY, dir_fd=proc)
    with os.fdopen(descriptor) as stat:
        # The name in parentheses may hold spaces; fields are counted from behind it.
        fields = stat.read().rpartition(")")[2].split()
    return 0 if fields[0] in "ZX" else int(fields[19])


def _runs_already(folder: int, proc: int, job: dict[str, Any]) -> bool:
    try:
        with os.fdopen(os.open(f"{job['name']}.json", os.O_RDONLY, dir_fd=folder)) as file:
            record = json.load(file)
        running: bool = _start_time(proc, record["pid"]) == record["start_time"]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return running and bool(record["boot"] == job["boot"])


def _record(folder: int, proc: int, pid: int, job: dict[str, Any]) -> None:
    record = {
        "pid": pid,
        "start_time": _start_time(proc, pid),
        "boot": job["boot"],
        "name": job["name"],
    }
    draft, final = f".{job['name']}", f"{job['name']}.json"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "w") as file:
        json.dump(record, file)
    os.replace(draft, final, src_dir_fd=folder, dst_dir_fd=folder)


def _execute(job: dict[str, Any], log: int, go: int, failure: int) -> None:
    """Become the command; never returns."""
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        if os.read(go, 1) != b"g":
            os._exit(1)
        os.chdir("/")
        os.execve(job["argv"][0], job["argv"], job["env"])  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(failure, str(error).encode())
    os._exit(127)


def main() -> None:
    """Start the process that standard input describes; exit 1 with a line when it fails."""
    job = json.load(sys.stdin)
    libc = ctypes.CDLL(None, use_errno=True)
    folder = os.open(job["records"], os.O_RDONLY | os.O_DIRECTORY)
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    # A killed `up` may have left another launcher of the same process behind, still at work.
    lock = os.open(f".{job['name']}.lock", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder)
    fcntl.flock(lock, fcntl.LOCK_EX)
    if _runs_already(folder, proc, job):
        return
    log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    Path(job["log"]).chmod(0o644)
    if job["join"] is not None:
        _join(libc, job["join"])
    elif job["new_namespaces"]:
        flags = 0
        for flag in _CLONE_FLAGS.values():
            flags |= flag
        _checked(libc.unshare(flags), "unshare")
    go_read, go_write = os.pipe()
    failure_read, failure_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_write)
        _execute(job, log, go_read, failure_write)
    os.close(failure_write)
    _record(folder, proc, pid, job)
    os.write(go_write, b"g")
    failure = os.read(failure_read, 4096)
    if failure:
        sys.exit(failure.decode())


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
