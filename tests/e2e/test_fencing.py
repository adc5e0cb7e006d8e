# SPDX-License-Identifier: Apache-2.0
"""A fence around a real database: sessions end, none comes in, nothing moves, no row is lost."""

import json
import time

import pymysql
import pytest

from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, operating, tiny_cluster
from tests.e2e.test_changes import uids
from tests.e2e.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

FENCED = "matrixorigin.io/fenced"
SETS = ("LogSet", "DNSet", "CNSet", "ProxySet")
_FENCED_SECONDS = 20.0


def fence(cluster: Cluster) -> dict[str, object]:
    return dict(cluster.get("mo", "mo")["status"].get("fence") or {})


def directly(cluster: Cluster) -> "pymysql.connections.Connection[pymysql.cursors.Cursor]":
    """Open a session on a compute node, as somebody who looks into the database does."""
    (pod,) = cluster.pods("CNSet").values()
    return pymysql.connect(
        **{**cluster.entrance, "host": pod["status"]["podIP"]}, connect_timeout=15, read_timeout=30
    )


def test_clients_are_kept_off_and_everything_stays(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with operating(real_testbed, tmp_path_factory.mktemp("operator"), "fenced") as cluster:
        cluster.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster()))
        cluster.await_ready()
        pods = uids(cluster, *SETS)
        with Traffic(cluster, "fenced") as traffic, cluster.connect() as idle:
            idle.query("select 1")
            eventually(lambda: len(traffic.acknowledged) > 20)
            cluster.kubectl("annotate", "mo", "mo", f"{FENCED}=true")
            eventually(
                lambda: fence(cluster).get("state") == "Closed",
                90,
                otherwise=lambda: fence(cluster),
            )
            written = len(traffic.acknowledged)
            with directly(cluster) as session, session.cursor() as cursor:
                time.sleep(_FENCED_SECONDS)
                cursor.execute("select count(*) from traffic.rows_seen")
                assert cursor.fetchone(), "who looks into it is not sent away"
            assert len(traffic.acknowledged) == written, "nobody writes"
            with pytest.raises(pymysql.MySQLError):
                idle.query("select 1")
            assert int(str(fence(cluster)["sessionsEnded"])) >= 4
            assert cluster.condition("mo", "mo", "Ready")["reason"] == "Fenced"
            cluster.kubectl("annotate", "mo", "mo", f"{FENCED}-")
            eventually(lambda: len(traffic.acknowledged) > written + 20, 90)
            cluster.await_ready()
            eventually(lambda: cluster.condition("mo", "mo", "Synced").get("status") == "True", 90)
            assert fence(cluster) == {}
        assert uids(cluster, *SETS) == pods
        assert traffic.lost() == []
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")
