# SPDX-License-Identifier: Apache-2.0
"""`kubectl matrixone` with an operator and a real database: what waits, waits until it is true."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import testbed
from demo import object_storage
from testbed import database
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.backups import BUCKET, RESTORED_SECONDS, Bucket
from tests.e2e.clusters import Cluster, draining, operating
from tests.e2e.pools import CLAIMED_BY, POOL, await_idle, await_service, pods, pooled
from tests.e2e.pools import apply as applied
from tests.e2e.tenants import Tenant
from tests.e2e.traffic import Traffic
from tests.support.plugin import Plugin, plugin_of
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

_LONGEST_GAP = 45.0


class User:
    """Somebody who types commands, in the namespace of a cluster."""

    def __init__(self, plugin: Plugin, cluster: Cluster) -> None:
        self.plugin, self.cluster = plugin, cluster

    def __call__(self, *arguments: str) -> str:
        """Return what a command prints that has to succeed."""
        return self.plugin.said(*arguments, "-n", self.cluster.namespace)

    def asked(self, cluster: str, *statements: str) -> str:
        """Return what a database answers."""
        given = [word for one in statements for word in ("-e", one)]
        return self("sql", cluster, *given)


@pytest.fixture(scope="module")
def user(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[User]:
    """Has a cluster of two compute nodes that drain, with its data in a bucket."""
    place, folder = Bucket(real_object_store), tmp_path_factory.mktemp("operator")
    with operating(bed_with_jobs, folder, "plugin", everywhere=True) as cluster:
        place.prepare(cluster)
        resource = draining(place.cluster(cluster.namespace))
        cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
        cluster.await_ready()
        home = tmp_path_factory.mktemp("home")
        yield User(plugin_of(bed_with_jobs, home, RESTORED_SECONDS), cluster)
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")


@pytest.fixture(scope="module")
def backup(user: User, real_object_store: ObjectStore) -> str:
    """The name of a Backup of a table, which was made by the plugin."""
    user.asked(
        "mo",
        "create database shop",
        "create table shop.orders (n int primary key)",
        "insert into shop.orders values (0), (1), (2)",
    )
    kind = object_storage.dialect(object_storage.BACKED_UP_AS_AWS)
    said = user(
        *("backup", "mo", "--wait", "--timeout=5m", "--path", f"{BUCKET}/{user.cluster.namespace}"),
        *("--endpoint", real_object_store.endpoint, "--region", real_object_store.region),
        *("--dialect", kind, "--secret", object_storage.SECRET),
    )
    user.asked("mo", "insert into shop.orders values (1000)")
    named = re.search(r"^Backup (\S+)  \S+i?$", said, re.MULTILINE)
    assert named, said
    return named[1]


def test_a_cluster_is_seen_at_work(user: User) -> None:
    assert "mo  Ready" in user("status", "mo", "--exit-code")
    found = yaml.safe_load(user("top", "mo", "-o", "yaml"))
    sessions = {one["pod"]: one["sessions"] for one in found["pods"]}
    nodes = user.cluster.pods("CNSet")
    assert len(nodes) == 2
    assert all(isinstance(sessions[pod], int) for pod in nodes), found


def test_a_backup_is_proven(user: User, backup: str) -> None:
    line = _line_of(user("backups", "mo"), backup)
    assert "Available" in line
    assert line.split()[-1] == "never"
    said = user(
        *("verify", backup, "--wait", "--timeout=10m"),
        *("--check", "select count(*) = 3 from shop.orders"),
    )
    assert re.search(r"^Passed: \d+ tables with \d+ rows were read$", said, re.MULTILINE), said
    assert "never" not in _line_of(user("backups", "mo"), backup)


def _line_of(listed: str, backup: str) -> str:
    return next(line for line in listed.splitlines() if line.startswith(backup))


def test_a_backup_is_restored_beside_the_old_cluster(user: User, backup: str) -> None:
    said = user("restore", "restored", "--from", backup, "--wait", "--timeout=10m")
    assert "MatrixOneCluster restored is Ready, with the data up to 20" in said
    counted = "select count(*) as rows_there, max(n) as newest from shop.orders"
    assert _numbers(user.asked("restored", counted)) == [3, 2]
    assert _numbers(user.asked("mo", counted)) == [4, 1000]
    again = user.plugin("restore", "restored", "--from", backup, "-n", user.cluster.namespace)
    assert again.returncode != 0
    assert "exists: a backup is only restored into a new one" in again.stderr
    user.cluster.kubectl("delete", "mo", "restored", "--timeout=240s")


def _numbers(said: str) -> list[int]:
    """Return the numbers of the last row of an answer, which ends with a count of its rows."""
    return [int(word) for word in re.findall(r"\d+", said.splitlines()[-2])]


def test_a_compute_node_drains_without_an_error(user: User) -> None:
    cluster = user.cluster
    drained = min(cluster.pods("CNSet"))
    with Traffic(cluster, "plugin-drain") as traffic:
        eventually(lambda: len(traffic.acknowledged) > 20, 60, "traffic")
        assert f"Pod {drained} has no sessions left" in user("drain", drained, "--timeout=3m")
        user("uncordon", drained)
        eventually(
            lambda: "Draining" not in json.dumps(cluster.get("cnset", "mo-tp")["status"]["stores"]),
            60,
            "the node serves again",
        )
    traffic.require_nothing_lost(longest=_LONGEST_GAP)
    assert drained in cluster.pods("CNSet")


@pytest.mark.parametrize("scope", ["Compute", "Database"])
def test_a_cluster_sleeps_and_wakes(user: User, scope: str) -> None:
    assert user("hibernate", "mo", "--scope", scope, "--wait").splitlines()[-1] == "Asleep"
    assert user.cluster.pods("CNSet") == {}
    assert bool(user.cluster.pods("LogSet")) is (scope == "Compute")
    asleep = user.plugin("sql", "mo", "-e", "select 1", "-n", user.cluster.namespace)
    assert asleep.stderr == "error: mo hibernates; wake it by kubectl matrixone wake mo\n"
    assert user("wake", "mo", "--wait").splitlines()[-1] == "Awake"
    assert _numbers(user.asked("mo", "select 40 + 2 as answer")) == [42]


def test_an_upgrade_is_planned_and_followed_to_its_end(user: User, backup: str) -> None:
    """The same program under the tag of the next minor release."""
    present = database.chosen()
    major, minor, *_ = present.tag.split(".")
    newer = f"{major}.{int(minor) + 1}.0"
    reference = present.reference.replace(present.tag, newer)
    testbed.tag_image(present.reference, reference, user.cluster.bed.name)
    planned = user("upgrade", "mo", "--to", newer, "--plan")
    assert f"From {present.tag} to {newer}" in planned
    assert user.cluster.get("mo", "mo")["spec"]["version"] == present.tag
    assert user("verify", backup, "--wait", "--to", newer).splitlines()[-1].startswith("Passed")
    user("upgrade", "mo", "--to", newer, "--watch", "--timeout=10m")
    status = user.cluster.get("mo", "mo")["status"]
    assert (status["version"], status["upgrade"]["phase"]) == (newer, "Completed")


def test_a_claim_moves_to_an_idle_node(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    with pooled(real_testbed, tmp_path_factory.mktemp("operator"), idle=1) as cluster:
        tenant = Tenant(cluster, "tenant_red")
        applied(cluster, tenant.claim("red", POOL))
        await_service(tenant, "red")
        await_idle(cluster, 1)
        user = User(plugin_of(real_testbed, tmp_path, RESTORED_SECONDS), cluster)
        before = cluster.get("cnclaim", "red")["spec"]["podName"]
        said = user("promote", "red", "--wait", "--timeout=5m")
        after = cluster.get("cnclaim", "red")["spec"]["podName"]
        assert after != before
        assert said.splitlines()[-1] == f"CNClaim red is served by {after}"
        assert cluster.get("pod", after)["metadata"]["labels"][CLAIMED_BY] == "red"
        assert pods(cluster).get(before) != "Bound"
        await_service(tenant, "red")
