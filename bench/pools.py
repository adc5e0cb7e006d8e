# SPDX-License-Identifier: Apache-2.0
"""Claims of compute nodes: how long until they are Bound, with an idle Pod for each.

Nothing runs in the Pods of fake nodes, so that the time of a process to start does not count. A
HAKeeper on this machine knows all Pods; what it costs is not the operator's.
"""

import sys
import time
from typing import Any

from bench import cost
from bench.clusters import Cluster
from bench.matrixone import install
from bench.measuring import NEVER, Bill, Load, Measures, settle
from bench.peers import ROOT, Peer, running

# The collection is where `make venv` links it.
sys.path.append(str(ROOT / ".collections"))

from tests.support import pools
from tests.support.api import Api

_API = "/apis/core.matrixorigin.io/v1alpha1/namespaces/bench"
CLAIMS = f"{_API}/cnclaims"
_POOLS = f"{_API}/cnpools"
_PODS = "/api/v1/namespaces/bench/pods"
_ALONE = 5


def claims(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Claim an idle Pod, five times with nothing else going on, then many at once."""
    install(cluster)
    with (
        pools.hakeeper(Api(cluster.bed.kubeconfig), cluster.namespace) as told,
        running(peer, cluster, NEVER) as operator,
        cluster.watching(_PODS, _is_idle) as idle,
        cluster.watching(CLAIMS, _is_bound) as bound,
    ):
        wanted = load.size + _ALONE
        pool = pools.pool("bench", told.address, wanted)
        cluster.each(["bench"], lambda client, _: client.request("POST", _POOLS, pool))
        if not idle.wait(wanted, time.monotonic() + load.seconds):
            return {"finished": float(len(idle.times))}
        settle(operator)
        alone = []
        for number in range(_ALONE):
            began = time.monotonic()
            cluster.each([f"alone-{number}"], _create)
            if not bound.wait(number + 1, began + load.seconds):
                return {"finished": float(number)}
            alone.append(max(bound.times.values()) - began)
            settle(operator)
        return {"median_s": sorted(alone)[_ALONE // 2], **_burst(operator, cluster, load, bound)}


def _burst(operator: Any, cluster: Cluster, load: Load, bound: Any) -> Measures:
    before = operator.memory()
    bill = Bill(operator, cluster)
    names = [f"claim-{number:04}" for number in range(load.size)]
    sent: dict[str, float] = {}

    def create(client: Any, name: str) -> None:
        sent[name] = time.monotonic()
        _create(client, name)

    with cost.Peak(operator.pid) as peak:
        begin = time.monotonic()
        cluster.each(names, create)
        bound.wait(load.size + _ALONE, begin + load.seconds)
    waits = sorted(bound.times[name] - sent[name] for name in names if name in bound.times)
    if len(waits) < load.size:
        return {"finished": float(len(waits)), "peak_mib": peak.mebibytes}
    spent = bill.total(load.size)
    return {
        "all_s": max(bound.times.values()) - begin,
        "p50_s": waits[len(waits) // 2],
        "p95_s": waits[min(len(waits) - 1, int(len(waits) * 0.95))],
        "p99_s": waits[min(len(waits) - 1, int(len(waits) * 0.99))],
        "idle_mib": before,
        "peak_mib": peak.mebibytes,
        **spent,
    }


def _create(client: Any, name: str) -> None:
    manifest = pools.claim(name, "bench")
    client.request("POST", CLAIMS, manifest)


def _is_idle(pod: dict[str, Any]) -> bool:
    return (pod["metadata"].get("labels") or {}).get(pools.PHASE) == "Idle"


def _is_bound(claim: dict[str, Any]) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")
