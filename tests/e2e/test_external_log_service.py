# SPDX-License-Identifier: Apache-2.0
"""Sets that know their log service by its address alone, as from another Kubernetes cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from testbed import database
from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, Json, operating, tiny_cluster
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

READY_SECONDS = 240


@pytest.fixture(scope="module")
def sets(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A LogSet, and sets that serve but do not name it."""
    folder = tmp_path_factory.mktemp("operator")
    with operating(real_testbed, folder, "external", deployed=True) as made:
        for resource in _resources(made.namespace):
            made.kubectl("apply", "-f", "-", input=json.dumps(resource))
        for name in ("logset/far", "dnset/near", "cnset/near", "proxyset/near"):
            made.kubectl("wait", "--for=condition=Ready", name, f"--timeout={READY_SECONDS}s")
        yield made
        made.kubectl("delete", "proxyset,cnset,dnset,logset", "--all", "--timeout=240s")


def _resources(namespace: str) -> list[Json]:
    spec = tiny_cluster()["spec"]
    path = spec["logService"]["sharedStorage"]["fileSystem"]["path"]
    claim = {"persistentVolumeClaim": {"claimName": "far-shared"}}
    deps = {
        "externalLogSet": {
            "haKeeperEndpoint": f"far-log-discovery.{namespace}.svc:32001",
            "sharedStorage": {"fileSystem": {"path": path, "volume": claim}},
        }
    }
    group = {key: value for key, value in spec["cnGroups"][0].items() if key != "name"}
    group["config"] = "[cn.frontend]\nproxy-enabled = true\n"
    group["scalingConfig"] = {"storeDrainEnabled": True, "minDelaySeconds": 0}
    return [
        _set("LogSet", "far", spec["logService"], {}),
        _set("DNSet", "near", spec["tn"], deps),
        _set("CNSet", "near", group, deps),
        _set("ProxySet", "near", spec["proxy"], deps),
    ]


def _set(kind: str, name: str, spec: Json, deps: Json) -> Json:
    found: Json = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"image": database.chosen().image, **spec},
    }
    return {**found, "deps": deps} if deps else found


def answer(sets: Cluster, statement: str) -> Any:
    """Return the first value that the database answers through the proxy; None while it does not.

    A proxy hears of compute nodes every few seconds.
    """
    try:
        return _answer(sets, statement)
    except pymysql.MySQLError:
        return None


def _answer(sets: Cluster, statement: str) -> Any:
    host = sets.get("service", "near-proxy")["spec"]["clusterIP"]
    with (
        pymysql.connect(host=host, port=6001, user="dump", password="111") as session,
        session.cursor() as cursor,
    ):
        cursor.execute(statement)
        row = cursor.fetchone()
    return row[0] if row else None


def test_it_answers(sets: Cluster) -> None:
    eventually(lambda: answer(sets, "select 6 * 7") == 42, 30, "answer")


def states(sets: Cluster) -> list[str]:
    """Return the work states of compute nodes, as their set's status has them."""
    return [one["state"] for one in sets.get("cnset", "near")["status"]["stores"]]


def await_nodes(sets: Cluster, count: int) -> None:
    """Wait until there are so many compute nodes, and they serve."""
    eventually(lambda: len(sets.pods("CNSet")) == count, 180, f"{count} compute nodes")
    sets.kubectl("wait", "--for=condition=Ready", "cnset/near", "--timeout=120s")


def test_what_the_log_service_knows_is_in_the_status(sets: Cluster) -> None:
    """HAKeeper is asked at the address: of shards, and of compute nodes."""
    kept = sets.get("configmap", "near-dn-shards")["data"]["shards"]
    assert kept.startswith("0 2 1 ")
    eventually(lambda: states(sets) == ["Working"], 30, "compute node that works")


def test_compute_nodes_come_and_drain(sets: Cluster) -> None:
    for count in (2, 1):
        sets.kubectl("scale", "cnset", "near", f"--replicas={count}")
        await_nodes(sets, count)
    eventually(lambda: answer(sets, "select 6 * 7") == 42, 30, "answer")
