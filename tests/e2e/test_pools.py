# SPDX-License-Identifier: Apache-2.0
"""Two tenants on compute nodes of a pool, through one proxy: claims, returns, a crash."""

import signal
import time
from collections.abc import Iterator

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import DRAIN_SECONDS, Cluster, Json
from tests.e2e.pools import (
    CLAIMED_BY,
    PHASE,
    POOL,
    READY_SECONDS,
    apply,
    await_service,
    bound,
    pods,
    pooled,
    served_by,
    store_of,
)
from tests.e2e.tenants import Tenant
from tests.e2e.traffic import conclude
from tests.support.api import Api
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

_CLAIMS = 20


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a pool of two idle compute nodes beside its own one."""
    with pooled(real_testbed, tmp_path_factory.mktemp("operator"), idle=2) as made:
        yield made


@pytest.fixture(scope="module")
def red(cluster: Cluster) -> Tenant:
    return Tenant(cluster, "tenant_red")


@pytest.fixture(scope="module")
def blue(cluster: Cluster) -> Tenant:
    return Tenant(cluster, "tenant_blue")


def test_each_tenant_is_served_by_the_node_that_it_claimed(
    cluster: Cluster, red: Tenant, blue: Tenant
) -> None:
    apply(cluster, red.claim("red", POOL), blue.claim("blue", POOL))
    seconds = [await_service(tenant, name) for tenant, name in ((red, "red"), (blue, "blue"))]
    conclude(f"claims: first SQL on the own node after {seconds[0]:.1f} s and {seconds[1]:.1f} s")
    assert store_of(cluster, "red") != store_of(cluster, "blue")
    eventually(lambda: sorted(pods(cluster).values()).count("Idle") == 2, READY_SECONDS, "others")


def test_a_returned_node_is_idle_without_labels_and_its_owner_gets_it_again(
    cluster: Cluster, red: Tenant
) -> None:
    pod = cluster.get("cnclaim", "red")["spec"]["podName"]
    cluster.kubectl("delete", "cnclaim", "red", "--timeout=10s")
    eventually(lambda: pods(cluster).get(pod) == "Idle", 120, "the node is idle again")
    labels = cluster.get("pod", pod)["metadata"]["labels"]
    assert CLAIMED_BY not in labels
    apply(cluster, red.claim("red", POOL))
    await_service(red, "red")
    assert cluster.get("cnclaim", "red")["spec"]["podName"] == pod


def test_a_tenant_is_served_after_each_of_its_claims(cluster: Cluster, red: Tenant) -> None:
    """From the creation of a claim to an answer of its node through the proxy, again and again.

    The times are printed, not judged: they depend on what else the machine has to do.
    """
    cluster.kubectl("delete", "cnclaim", "--all", "--timeout=60s")
    api = Api(cluster.bed.kubeconfig)
    waits = []
    for number in range(_CLAIMS):
        eventually(lambda: set(pods(cluster).values()) == {"Idle"}, DRAIN_SECONDS, "no drain")
        waits.append(_time_to_service(api, red, f"timed-{number}"))
        cluster.kubectl("delete", "cnclaim", f"timed-{number}", "--timeout=60s")
    binds, services = (sorted(times) for times in zip(*waits, strict=True))
    conclude(
        f"{_CLAIMS} claims one after another: Bound after {binds[_CLAIMS // 2]:.2f} s "
        f"(longest {binds[-1]:.2f} s), first SQL on the own node after "
        f"{services[_CLAIMS // 2]:.2f} s (longest {services[-1]:.2f} s)"
    )


def _time_to_service(api: Api, tenant: Tenant, name: str) -> tuple[float, float]:
    """Return the seconds from the creation of a claim until it is bound, and until it is served."""
    path = api.path("cnclaim", tenant.namespace)
    begun = time.monotonic()
    api.request("POST", path, tenant.claim(name, POOL))

    def store() -> Json:
        status = api.get("cnclaim", tenant.namespace, name).get("status") or {}
        return dict(status.get("store", {})) if status.get("phase") == "Bound" else {}

    own = eventually(store, READY_SECONDS, f"{name} is bound", pause=0.05)
    bound_after = time.monotonic() - begun
    eventually(lambda: served_by(tenant, [own]), READY_SECONDS, f"{name} serves", pause=0.05)
    return bound_after, time.monotonic() - begun


def test_an_operator_that_is_killed_in_a_burst_binds_nothing_twice(
    cluster: Cluster, red: Tenant
) -> None:
    names = [f"burst-{number}" for number in range(3)]
    eventually(lambda: list(pods(cluster).values()).count("Idle") >= 2, DRAIN_SECONDS, "idle nodes")
    apply(cluster, *(red.claim(name, POOL) for name in names))
    time.sleep(0.3)
    cluster.operator.end(signal.SIGKILL)
    cluster.operator.start()
    eventually(
        lambda: sum(bound(cluster, name) for name in names) >= 2, READY_SECONDS, "bound claims"
    )
    listed = cluster.get("pods", "-l", f"pool.matrixorigin.io/pool-name={POOL}")["items"]
    holders = [
        one["metadata"]["labels"][CLAIMED_BY]
        for one in listed
        if one["metadata"]["labels"].get(PHASE) == "Bound"
    ]
    assert len(holders) == len(set(holders))
    cluster.kubectl("delete", "cnclaim", *names, "--timeout=30s")
