# SPDX-License-Identifier: Apache-2.0
"""Peers made of the database's own code: a scripted HAKeeper and a real one, both on loopback."""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from testbed import building
from testbed.ports import choose_ports, is_free
from testbed.processes import terminate

_START_SECONDS = 90.0


@dataclass
class Peers:
    """A running program and where it listens."""

    process: "subprocess.Popen[bytes]"
    stores: list[str]
    lock: str
    query: list[str]
    control: str
    log: Path = field(repr=False)

    def do(self, path: str, **values: object) -> str:
        """Ask the control port for something."""
        query = urllib.parse.urlencode(values)
        url = f"http://{self.control}/{path}?{query}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())

    def state(self) -> dict[str, Any]:
        """Return HAKeeper's state as the state machine has it, not as our client reads it."""
        return dict(json.loads(self.do("state")))

    def alive(self) -> bool:
        return self.process.poll() is None


def cn(number: int) -> str:
    return f"30000000-0000-0000-0000-{number:012d}"


def log_store(number: int) -> str:
    return f"10000000-0000-0000-0000-{number:012d}"


def local(port: int) -> str:
    return f"127.0.0.1:{port}"


@contextmanager
def running(program: str, arguments: list[str], folder: Path, **where: Any) -> Iterator[Peers]:
    """Start a peer, wait until it says that it is ready, and end it."""
    path = building.provide([program])[program]
    log = folder / f"{program}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [path, *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
    peers = Peers(process, log=log, **where)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while b"ready" not in log.read_bytes():
            assert peers.alive(), log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, f"{program} does not get ready: see {log}"
            time.sleep(0.05)
        yield peers
    finally:
        terminate(process, 20)


@contextmanager
def simulated(folder: Path, *extra: str, cns: int = 3, stores: int = 3) -> Iterator[Peers]:
    """Run the scripted HAKeeper: genuine state machine and RPC, faults on demand."""
    names = [f"log-{i}" for i in range(stores)] + ["lock", "control"]
    ports = choose_ports(names, ())
    # The query services of the compute nodes take consecutive ports.
    first = _consecutive(cns, set(ports.values()))
    listen = [local(ports[f"log-{i}"]) for i in range(stores)]
    arguments = [
        *("-listen", ",".join(listen), "-lock-listen", local(ports["lock"])),
        *("-query-listen", local(first), "-control", local(ports["control"])),
        *("-cns", str(cns), *extra),
    ]
    where = {
        "stores": listen,
        "lock": local(ports["lock"]),
        "query": [local(first + i) for i in range(cns)],
        "control": local(ports["control"]),
    }
    with running("hakeeper-sim", arguments, folder, **where) as peers:
        yield peers


def _consecutive(count: int, taken: set[int]) -> int:
    for _ in range(100):
        first = choose_ports(["first"], taken)["first"]
        rest = set(range(first + 1, first + count))
        if rest & taken:
            continue
        if all(is_free(port, "") for port in rest):
            return first
    raise AssertionError("no consecutive ports are free")


@pytest.fixture
def sim(tmp_path: Path) -> Iterator[Peers]:
    """Three log stores, a transaction node and three compute nodes; time runs."""
    with simulated(tmp_path) as peers:
        yield peers


@pytest.fixture
def frozen(tmp_path: Path) -> Iterator[Peers]:
    """The same, with time that stands still until a test moves it."""
    with simulated(tmp_path, "-freeze") as peers:
        yield peers
