# SPDX-License-Identifier: Apache-2.0
"""What is measured: each scenario loads one running peer on a test bed of its own."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import cost, matrixone, pools
from bench.clusters import DEPLOYMENTS, WORKS, Cluster, Seen, is_done, work
from bench.measuring import NEVER, Bill, Load, Measures, await_runs, settle
from bench.peers import Peer, peers, running

_SINGLES = 5
_SOAKED = 50
"""Objects of a soak; with more of them it would only take longer to begin."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One of the benchmark's scenarios.

    Attributes:
        about: what it does, in a line.
        sizes: numbers of objects when the user names none.
        measure: does it.
        by: name of the only peer that can; empty for all that play the benchmark's own role.
        is_long: whether it is left out unless it is named.
    """

    about: str
    sizes: tuple[int, ...]
    measure: Callable[[Peer, Cluster, Load], Measures]
    by: str = ""
    is_long: bool = False

    def suits(self, peer: Peer) -> bool:
        """Whether a peer can do it."""
        return peer.name == self.by if self.by else peer.watches is None


def one(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Create single objects, each when nothing else goes on."""
    exist: list[float] = []
    with running(peer, cluster, NEVER) as operator, cluster.watching(DEPLOYMENTS, _any) as seen:
        settle(operator)
        idle = operator.memory()
        bill = Bill(operator, cluster)
        for index in range(_SINGLES):
            name = f"one-{index}"
            begin = time.monotonic()
            cluster.each([name], _create)
            if not seen.wait(index + 1, begin + load.seconds):
                return {"finished": float(index)}
            exist.append(seen.times[name] - begin)
            settle(operator)
        return {
            "first_s": exist[0],
            "median_s": statistics.median(exist),
            "idle_mib": idle,
            **bill.total(_SINGLES),
        }


def burst(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Create many objects at once."""
    with (
        running(peer, cluster, NEVER) as operator,
        cluster.watching(DEPLOYMENTS, _any) as exist,
        cluster.watching(WORKS, is_done) as done,
    ):
        settle(operator)
        idle = operator.memory()
        bill = Bill(operator, cluster)
        with cost.Peak(operator.pid) as peak:
            begin, created = _create_all(cluster, load.size)
            exist.wait(load.size, begin + load.seconds)
            done.wait(load.size, begin + load.seconds)
        finished = len(done.times)
        if finished < load.size:
            return {"finished": float(finished), "peak_mib": peak.mebibytes}
        settle(operator)
        return {
            "all_s": max(done.times.values()) - begin,
            "p50_s": _percentile(created, exist, 50),
            "p95_s": _percentile(created, exist, 95),
            "idle_mib": idle,
            "peak_mib": peak.mebibytes,
            "after_mib": operator.memory(),
            **bill.total(load.size),
        }


def resync(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Let the period of many unchanged objects pass."""
    _populate(peer, cluster, load)
    with running(peer, cluster, "5s") as operator:
        if not await_runs(operator, load.size, load.seconds):
            return {"finished": float(operator.runs())}
        bill = Bill(operator, cluster)
        begin = time.monotonic()
        while bill.runs() < load.size:
            if time.monotonic() - begin > load.seconds:
                return {"finished": float(bill.runs())}
            time.sleep(0.2)
        return {"all_s": time.monotonic() - begin, **bill.total(max(1, bill.runs()))}


def start(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Start the operator when many objects are up to date already."""
    _populate(peer, cluster, load)
    _, offset = cluster.requests("")
    with running(peer, cluster, NEVER) as operator:
        ready = time.monotonic() - operator.started
        if not await_runs(operator, load.size, load.seconds):
            return {"ready_s": ready, "finished": float(operator.runs())}
        total = time.monotonic() - operator.started
        cpu = operator.cpu()
        requests, _ = cluster.requests(operator.user, offset)
        counted = sum(count for verb, count in requests.items() if verb != "watch")
        return {
            "ready_s": ready,
            "all_s": total,
            "cpu_per_object": cpu / load.size,
            "requests_per_object": counted / load.size,
            "runs_per_object": operator.runs() / load.size,
            "after_mib": operator.memory(),
        }


def storm(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Scale all Deployments to nothing behind the operator's back."""
    _populate(peer, cluster, load)
    with running(peer, cluster, NEVER) as operator:
        if not await_runs(operator, load.size, load.seconds):
            return {"finished": 0.0}
        settle(operator)
        bill = Bill(operator, cluster)
        with cluster.watching(DEPLOYMENTS, _is_back) as back:
            begin = time.monotonic()
            cluster.each(_names(load.size), _scale_to_none)
            if not back.wait(load.size, begin + load.seconds):
                return {"finished": float(len(back.times))}
            settle(operator)
            return {"all_s": max(back.times.values()) - begin, **bill.total(load.size)}


def soak(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Run unchanged objects over and over, ``size`` runs in all; does memory grow?"""
    few = Load(min(load.size, _SOAKED), load.seconds)
    _populate(peer, cluster, few)
    with running(peer, cluster, "1s") as operator:
        if not await_runs(operator, few.size, load.seconds):
            return {"finished": 0.0}
        bill, measures = Bill(operator, cluster), Measures(idle_mib=operator.memory())
        for part, name in ((10, "tenth_mib"), (2, "half_mib"), (1, "after_mib")):
            if not await_runs(operator, few.size + load.size // part, load.seconds):
                return {"finished": float(bill.runs())}
            measures[name] = operator.memory()
        return {**measures, **bill.total(max(1, bill.runs()))}


SCENARIOS = {
    "one": Scenario("one object when nothing else goes on, five times", (1,), one),
    "burst": Scenario("many objects created at once", (20, 200), burst),
    "resync": Scenario("the period of many unchanged objects passes", (200,), resync),
    "start": Scenario("the operator starts with many objects up to date", (200,), start),
    "storm": Scenario("all Deployments are changed behind its back", (200,), storm),
    "soak": Scenario("unchanged objects run over and over", (10_000,), soak, is_long=True),
    "clusters": Scenario(
        "MatrixOne clusters are created at once", (20,), matrixone.create, by="matrixone"
    ),
    "idle": Scenario(
        "an unchanged MatrixOne cluster with all its children", (1,), matrixone.idle, by="matrixone"
    ),
    "claims": Scenario(
        "claims of idle compute nodes, alone and at once", (100,), pools.claims, by="matrixone"
    ),
}


def _any(_: dict[str, Any]) -> bool:
    return True


def _is_back(deployment: dict[str, Any]) -> bool:
    """Whether somebody has set the replicas after :func:`_scale_to_none`."""
    metadata = deployment["metadata"]
    return bool(deployment["spec"]["replicas"] == 1 and (metadata.get("labels") or {}).get("storm"))


def _scale_to_none(client: Any, name: str) -> None:
    change = {"metadata": {"labels": {"storm": "passed"}}, "spec": {"replicas": 0}}
    client.merge(f"{DEPLOYMENTS}/{name}", change)


def _create(client: Any, name: str) -> float:
    before = time.monotonic()
    client.request("POST", WORKS, work(name))
    return before


def _names(count: int) -> list[str]:
    return [f"work-{index:04}" for index in range(count)]


def _create_all(cluster: Cluster, count: int) -> tuple[float, dict[str, float]]:
    """Create objects; when it began, and when each was sent."""
    sent: dict[str, float] = {}
    begin = time.monotonic()
    cluster.each(_names(count), lambda client, name: sent.update({name: _create(client, name)}))
    return begin, sent


def _percentile(created: dict[str, float], seen: Seen, percent: int) -> float:
    waits = sorted(seen.times[name] - at for name, at in created.items() if name in seen.times)
    return waits[min(len(waits) - 1, len(waits) * percent // 100)]


def _populate(peer: Peer, cluster: Cluster, load: Load) -> None:
    """Have all objects up to date, by the peer itself, or by a fast one with the same role."""
    maker = next(one for one in peers() if one.role == peer.role) if peer.is_slow else peer
    deadline = time.monotonic() + load.seconds
    with running(maker, cluster, NEVER) as operator, cluster.watching(WORKS, is_done) as done:
        _create_all(cluster, load.size)
        done.wait(load.size, deadline)
        settle(operator)
    cluster.forget(maker.name)
