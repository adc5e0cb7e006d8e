# SPDX-License-Identifier: Apache-2.0
"""What clients of a tenant notice while the compute nodes that it claimed come, move and go."""

import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import DRAIN_SECONDS, Cluster, Json
from tests.e2e.faults import frozen
from tests.e2e.pools import (
    apply,
    await_claims,
    await_gone,
    await_idle,
    claim_set,
    pods,
    pool,
    pooled,
    served_by,
)
from tests.e2e.tenants import Tenant
from tests.e2e.traffic import Traffic, conclude
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

_SET = "greens"
_MOST = 7
_GAP_SECONDS = 45.0
_READ_SECONDS = 30.0
"""After which a client of Cluster.connect gives up a statement that is not answered."""
_CONNECT_SECONDS = 15.0
"""After which it gives up a connection that is not accepted."""
_QUIET_SECONDS = 3
_LOCK_SECONDS = 10
"""Soon after its end, statements would wait for the locks that a compute node took with it."""


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with a pool of two idle compute nodes beside its own one."""
    folder = tmp_path_factory.mktemp("operator")
    with pooled(real_testbed, folder, idle=2, most=_MOST) as made:
        yield made


@pytest.fixture(scope="module")
def green(cluster: Cluster) -> Tenant:
    """A tenant with a set of one claim."""
    tenant = Tenant(cluster, "tenant_green")
    apply(cluster, claim_set(_SET, tenant, 1))
    await_claims(cluster, _SET, 1)
    eventually(lambda: served_by(tenant, _stores(cluster)), 60, "the tenant is on its own node")
    return tenant


def test_a_set_of_claims_is_scaled_out_and_in(cluster: Cluster, green: Tenant) -> None:
    with Traffic(green, "pool-scaled") as traffic:
        time.sleep(_QUIET_SECONDS)
        for wanted in (3, 1):
            cluster.kubectl("scale", "cnclaimset", _SET, f"--replicas={wanted}")
            await_claims(cluster, _SET, wanted)
            time.sleep(_QUIET_SECONDS)
        await_gone(cluster)
        time.sleep(_LOCK_SECONDS)
    traffic.require_nothing_lost(longest=_GAP_SECONDS)


def test_a_claim_moves(cluster: Cluster, green: Tenant) -> None:
    await_idle(cluster, 1)
    claim = _claims(cluster)[0]
    name, source = claim["metadata"]["name"], claim["spec"]["podName"]
    target = min(name for name, phase in pods(cluster).items() if phase == "Idle")
    with Traffic(green, "pool-claim-moves") as traffic:
        time.sleep(_QUIET_SECONDS)
        moved = {"podName": target, "sourcePod": {"podName": source}}
        cluster.patch("cnclaim", name, {"spec": moved})
        eventually(
            lambda: "sourcePod" not in cluster.get("cnclaim", name)["spec"],
            DRAIN_SECONDS,
            "the end of the move",
        )
        time.sleep(_QUIET_SECONDS)
    traffic.require_nothing_lost(longest=_GAP_SECONDS)
    present = cluster.get("cnclaim", name)
    assert present["status"]["store"]["podName"] == target
    assert served_by(green, [present["status"]["store"]])


def test_a_pool_is_rolled(cluster: Cluster, green: Tenant) -> None:
    """Its claim set replaces its claim; the new Pod serves before the former one drains."""
    await_idle(cluster, 2)
    before = set(pods(cluster))
    config = '[cn.frontend]\nproxy-enabled = true\n\n[log]\nlevel = "info"\n'
    with Traffic(green, "pool-rolled") as traffic:
        time.sleep(_QUIET_SECONDS)
        apply(cluster, pool(2, _MOST, config=config))
        eventually(
            lambda: not before & set(pods(cluster)),
            2 * DRAIN_SECONDS,
            "Pods of the new template alone",
            otherwise=lambda: pods(cluster),
        )
        await_claims(cluster, _SET, 1)
        await_gone(cluster)
        time.sleep(_LOCK_SECONDS)
    traffic.require_nothing_lost(longest=_GAP_SECONDS)
    assert served_by(green, _stores(cluster))


def test_the_operator_is_killed_while_claims_come_and_go(cluster: Cluster, green: Tenant) -> None:
    await_idle(cluster, 2)
    with Traffic(green, "pool-operator-killed") as traffic:
        for wanted in (3, 1):
            time.sleep(_QUIET_SECONDS)
            cluster.kubectl("scale", "cnclaimset", _SET, f"--replicas={wanted}")
            time.sleep(0.3)
            cluster.operator.end(signal.SIGKILL)
            time.sleep(_QUIET_SECONDS)
            cluster.operator.start()
            eventually(
                lambda wanted=wanted: len(_claims(cluster)) == wanted,
                DRAIN_SECONDS,
                "claims are created and deleted",
            )
            await_claims(cluster, _SET, wanted)
        await_gone(cluster)
        time.sleep(_LOCK_SECONDS)
    traffic.require_nothing_lost(longest=_GAP_SECONDS)


def test_a_claimed_node_is_evicted(cluster: Cluster, green: Tenant) -> None:
    """It serves until its clients have gone to the node that replaces it."""
    with Traffic(green, "pool-node-evicted") as traffic:
        _loses_a_node(cluster, green)
        await_gone(cluster)
        time.sleep(_LOCK_SECONDS)
    traffic.require_nothing_lost(longest=_GAP_SECONDS)


def test_a_claimed_node_is_deleted_at_once(cluster: Cluster, green: Tenant) -> None:
    """Nothing closes its sessions: clients wait until they give up, and are then served again."""
    with Traffic(green, "pool-node-deleted") as traffic:
        _loses_a_node(cluster, green, "--force", "--grace-period=0")
        given_up = traffic.seconds() + _READ_SECONDS + _CONNECT_SECONDS
        time.sleep(_READ_SECONDS + _CONNECT_SECONDS + 2 * _QUIET_SECONDS)
    longest = _READ_SECONDS + 2 * _CONNECT_SECONDS
    traffic.require_nothing_lost(longest=longest, errors=None)
    traffic.require_service_since(given_up)


def test_a_claimed_node_stands_still(cluster: Cluster, green: Tenant) -> None:
    """Another one replaces it meanwhile; clients give up their statements, and are served there."""
    await_idle(cluster, 1)
    victim = _claims(cluster)[0]["spec"]["podName"]
    with Traffic(green, "pool-node-frozen") as traffic:
        time.sleep(_QUIET_SECONDS)
        begun = time.monotonic()
        with frozen(cluster, victim):
            _await_another(cluster, green, victim)
            conclude(f"served by another node {time.monotonic() - begun:.1f} s after the freeze")
            given_up = traffic.seconds() + _READ_SECONDS + _CONNECT_SECONDS
            time.sleep(_READ_SECONDS + _CONNECT_SECONDS + 2 * _QUIET_SECONDS)
        await_gone(cluster)
    traffic.require_nothing_lost(longest=2 * _READ_SECONDS + 2 * _CONNECT_SECONDS, errors=None)
    traffic.require_service_since(given_up)
    events = cluster.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}").split()
    assert "Replaced" in events


def _loses_a_node(cluster: Cluster, green: Tenant, *how: str) -> None:
    """Delete the Pod of the only claim, and wait until another one serves the tenant."""
    await_idle(cluster, 1)
    victim = _claims(cluster)[0]["spec"]["podName"]
    time.sleep(_QUIET_SECONDS)
    cluster.kubectl("delete", "pod", victim, "--wait=false", *how)
    _await_another(cluster, green, victim)


def _await_another(cluster: Cluster, green: Tenant, victim: str) -> None:
    """Wait until another Pod than this one serves the tenant."""
    eventually(
        lambda: victim not in {one["spec"].get("podName", victim) for one in _claims(cluster)},
        DRAIN_SECONDS,
        "another Pod",
    )
    await_claims(cluster, _SET, 1)
    eventually(lambda: served_by(green, _stores(cluster)), 60, "the new node serves")


def _claims(cluster: Cluster) -> list[dict[str, Any]]:
    return list(cluster.get("cnclaim", "-l", f"set={_SET}")["items"])


def _stores(cluster: Cluster) -> list[Json]:
    """Return the stores of the claims of the set, as their status has them."""
    statuses = (one.get("status", {}) for one in _claims(cluster))
    return [status["store"] for status in statuses if "store" in status]
