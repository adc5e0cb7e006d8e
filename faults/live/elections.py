# SPDX-License-Identifier: Apache-2.0
"""Two processes of an operator elect a leader while their connections are disturbed.

One proxy stands before each of them, so that what each writes, and when, is known. The clock of one
may be wrong: libfaketime gives it another one.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from demo.memcached import SYSTEM
from faults.live.disturbing import OF_READS, OF_WRITES, Disturbances, Flavour
from faults.live.lives import CREATE, take
from faults.live.playing import Played, played
from faults.live.proxy import ApiProxy
from faults.points import Fault, Point
from testbed.bed import TestBed
from tests.support.operators import Operator

FLAVOURS = OF_READS | OF_WRITES
_LEASE_SECONDS, _RENEW_SECONDS = 5, 3
_FLAGS = (
    "--leader-elect",
    # Where the account of the operator may write Leases.
    f"--leader-election-namespace={SYSTEM}",
    f"--leader-elect-lease-duration={_LEASE_SECONDS}s",
    f"--leader-elect-renew-deadline={_RENEW_SECONDS}s",
)
_ROUNDS = 8
_ROUND_SECONDS = 3.0
_SILENT_SECONDS = 7.0
_SECONDS = 90.0
_ACQUIRED = "successfully acquired lease"
CLOCKS = ("", "-30m", "-20s", "+20s", "+30m")
"""How wrong the clock of the other process is; empty if it is right."""
_LIBRARY = "libfaketimeMT.so.1"


@dataclass
class Candidate:
    """One of the processes, which is started again when it ends.

    Attributes:
        one: the life, with the proxy of this process.
        process: that runs now.
        terms: seconds of its first and its last write, for each process.
    """

    one: Played
    process: Operator
    began: int = 0
    terms: list[tuple[float, float]] = field(default_factory=list)

    def note(self) -> None:
        """Note when the present process wrote."""
        times = self.one.proxy.written[self.began :]
        if times:
            self.terms.append((times[0], times[-1]))
        self.began = len(self.one.proxy.written)

    def start_again_if_ended(self) -> None:
        """Do what a Deployment does."""
        if self.process.process.poll() is not None:
            self.note()
            self.process = self.one.start(*_flags(self.one))

    @property
    def leads(self) -> bool:
        """Whether the process has acquired the Lease and not ended since."""
        lines = [line["msg"] for line in self.process.lines()]
        starts = [number for number, text in enumerate(lines) if "attempting to acquire" in text]
        began = starts[-1] if starts else 0
        return self.process.process.poll() is None and any(
            text.startswith(_ACQUIRED) for text in lines[began:]
        )


def _flags(one: Played) -> Sequence[str]:
    return (*_FLAGS, f"--leader-election-id={one.namespace}")


def elect(bed: TestBed, point: Point) -> None:
    """Change a resource again and again while the two processes are disturbed.

    Raises:
        Fault: both were at work at once, or in the end nobody is.
    """
    flavours, seed, clock = (point.place + ":").split(":")[:3]
    rng = random.Random(int(seed))  # noqa: S311 - repeatable
    with _candidates(point.kind, bed, clock) as both:
        first = both[0].one
        take(first.life, CREATE, first.api, first.namespace)
        for number, each in enumerate(both):
            drawn = Disturbances(
                [Flavour(one) for one in flavours.split("+")], rng.randrange(10**6)
            )
            each.one.proxy.disturbances = drawn if (number or rng.random() < 0.7) else None
        size = 1
        for _ in range(_ROUNDS):
            size = rng.choice([one for one in range(1, 5) if one != size])
            first.api.merge(first.life.kind, first.namespace, first.life.name, _sized(size))
            _trouble(rng, both)
            for each in both:
                each.start_again_if_ended()
        for each in both:
            each.one.proxy.disturbances = None
        _require_one_at_a_time(both)
        _require_end(both, size)
        _require_one_at_a_time(both)


def _sized(size: int) -> dict[str, dict[str, int]]:
    return {"spec": {"size": size}}


def _trouble(rng: random.Random, both: Sequence[Candidate]) -> None:
    """Let some time pass; sometimes the leader is frozen, or cut off, for longer than its Lease."""
    leader = next((each for each in both if each.leads), None)
    what = rng.choice(("nothing", "nothing", "frozen", "cut off"))
    if leader is None or what == "nothing":
        time.sleep(_ROUND_SECONDS)
    elif what == "frozen":
        process = leader.process.process
        process.send_signal(signal.SIGSTOP)
        time.sleep(_SILENT_SECONDS)
        process.send_signal(signal.SIGCONT)
    else:
        before = leader.one.proxy.disturbances
        leader.one.proxy.disturbances = Disturbances([Flavour.ERROR], rng.randrange(10**6), 1.0)
        time.sleep(_SILENT_SECONDS)
        leader.one.proxy.disturbances = before


def _require_end(both: Sequence[Candidate], size: int) -> None:
    one = both[0].one
    deadline = time.monotonic() + _SECONDS
    while True:
        for each in both:
            each.start_again_if_ended()
        found = one.api.get(one.life.kind, one.namespace, one.life.name)
        nodes = (found.get("status") or {}).get("nodes") or []
        leaders = sum(each.leads for each in both)
        if len(nodes) == size and leaders == 1 and one.life.is_done(one.api, one.namespace):
            return
        if time.monotonic() > deadline:
            raise Fault(f"in the end {leaders} lead, and {len(nodes)} of {size} Pods are reported")
        time.sleep(0.3)


def _require_one_at_a_time(both: Sequence[Candidate]) -> None:
    """Require that no process wrote before the last write of one that wrote before it."""
    for each in both:
        each.note()
    terms = sorted(
        (first, last, number) for number, each in enumerate(both) for first, last in each.terms
    )
    for (first, last, who), (begin, _end, other) in pairwise(terms):
        if begin < last:
            raise Fault(
                f"process {other} wrote {last - begin:.2f} s before the last write of {who}, "
                f"which had written since {begin - first:.2f} s: both were at work"
            )


def _wrong_clock(clock: str) -> dict[str, str]:
    """Return the variables that give a process a clock of its own; a wait takes as long as ever.

    Raises:
        Fault: the library is not installed.
    """
    if not clock:
        return {}
    found = sorted(Path("/usr/lib").glob(f"*/faketime/{_LIBRARY}"))
    if not found:
        raise Fault(
            f"{_LIBRARY} is needed for a wrong clock; on Debian: apt-get install libfaketime"
        )
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": clock,
    }


@contextmanager
def _candidates(kind: str, bed: TestBed, clock: str) -> Iterator[list[Candidate]]:
    with played(kind, bed) as one, ApiProxy(one.account) as proxy:
        folder = Path(one.folder) / "other"
        folder.mkdir()
        other = Played(one.life, bed, one.namespace, proxy, folder, one.api, one.account)
        other.variables = _wrong_clock(clock)
        both = [Candidate(each, each.start(*_flags(one))) for each in (one, other)]
        try:
            yield both
            # The object goes while somebody is there to let it go.
            one.api.request("DELETE", one.api.path(one.life.kind, one.namespace, one.life.name))
        finally:
            for each in both:
                each.process.process.send_signal(signal.SIGCONT)
                each.process.kill()
