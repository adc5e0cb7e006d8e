# SPDX-License-Identifier: Apache-2.0
"""The roles of this collection on fake nodes: whole clusters, from their creation to idleness."""

import time
from typing import Any

import yaml

from bench import cost
from bench.clusters import Cluster
from bench.measuring import NEVER, Bill, Load, Measures, await_runs, settle
from bench.peers import ROOT, Peer, running

_API = "/apis/core.matrixorigin.io/v1alpha1/namespaces/bench"
CLUSTERS = f"{_API}/matrixoneclusters"
_PERIOD_ANNOTATION = "ansible.sdk.operatorframework.io/reconcile-period"
_PERIOD = "2s"
_NEWS_SECONDS = 125.0
"""For two minutes after a LogSet became ready each pass over it asks HAKeeper what is new."""
_PASSES = 20
_LOOK_SECONDS = 10.0
"""Seldom: a look costs the operator as much CPU as a pass over one object."""


def create(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Create many clusters at once, with all their sets, until they are ready."""
    install(cluster)
    with running(peer, cluster, NEVER) as operator, cluster.watching(CLUSTERS, _is_ready) as ready:
        settle(operator)
        idle = operator.memory()
        bill = Bill(operator, cluster)
        with cost.Peak(operator.pid) as peak:
            begin = time.monotonic()
            names = [f"mo-{index:03}" for index in range(load.size)]
            cluster.each(names, _create)
            ready.wait(load.size, begin + load.seconds)
        if len(ready.times) < load.size:
            return {"finished": float(len(ready.times)), "peak_mib": peak.mebibytes}
        settle(operator)
        waits = sorted(at - begin for at in ready.times.values())
        return {
            "all_s": waits[-1],
            "p50_s": waits[len(waits) // 2],
            "idle_mib": idle,
            "peak_mib": peak.mebibytes,
            "after_mib": operator.memory(),
            **bill.total(load.size),
        }


def idle(peer: Peer, cluster: Cluster, load: Load) -> Measures:
    """Pass over an unchanged cluster and all its children again and again.

    CPU and requests are those of one pass over the cluster and each of its children.
    """
    install(cluster)
    with running(peer, cluster, NEVER) as operator, cluster.watching(CLUSTERS, _is_ready) as ready:
        cluster.each(["mo"], _create)
        if not ready.wait(1, time.monotonic() + load.seconds):
            return {"finished": 0.0}
        time.sleep(_NEWS_SECONDS)
        settle(operator)
        objects = _often(cluster)
        before = operator.runs()
        await_runs(operator, before + 2 * objects, load.seconds)
        bill = Bill(operator, cluster)
        wanted = operator.runs() + objects * _PASSES
        if not await_runs(operator, wanted, load.seconds, pause=_LOOK_SECONDS):
            return {"finished": float(bill.runs())}
        return bill.total(max(1, bill.runs()) / objects)


def install(cluster: Cluster) -> None:
    """Install the CRDs and wait until they are served."""
    cluster.bed.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    cluster.bed.kubectl(
        *("wait", "--for=condition=Established", "--timeout=60s", "crd"),
        *("matrixoneclusters.core.matrixorigin.io", "cnpools.core.matrixorigin.io"),
    )


def _create(client: Any, name: str) -> None:
    resource = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())
    resource["metadata"] = {"name": name, "namespace": "bench"}
    client.request("POST", CLUSTERS, resource)


def _is_ready(resource: dict[str, Any]) -> bool:
    status = resource.get("status") or {}
    holding = {one["type"] for one in status.get("conditions") or () if one["status"] == "True"}
    current = status.get("observedGeneration") == resource["metadata"]["generation"]
    return current and {"Ready", "Synced"} <= holding


def _often(cluster: Cluster) -> int:
    """Have the cluster and its children passed over every few seconds; how many they are."""
    kinds = ("mo", "logset", "dnset", "cnset", "proxyset")
    cluster.bed.kubectl(
        *("-n", "bench", "annotate", ",".join(kinds), "--all"), f"{_PERIOD_ANNOTATION}={_PERIOD}"
    )
    return len(kinds)
