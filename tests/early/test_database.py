# SPDX-License-Identifier: Apache-2.0
"""The real database in the Pod of a MatrixoneCluster: it answers, and keeps its rows."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from testbed import database as databases
from testbed.bed import TestBed
from tests.early.conftest import Space
from tests.early.resources import KIND, Json, early
from tests.support.namespaces import install
from tests.support.operators import running_operator
from tests.support.waiting import eventually

pytestmark = pytest.mark.node

ROWS = 500


@pytest.fixture(scope="module")
def database(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    """The sample on the real node, with small volumes; the operator runs as a process."""
    install(real_testbed)
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = real_testbed.kubeconfig
    with (
        real_testbed.namespace("early") as name,
        running_operator(kubeconfig, folder, WATCH_NAMESPACE=name),
    ):
        space = Space(real_testbed, name)
        space.apply(sample())
        space.wait("mo", seconds=120)
        yield space
        space.kubectl("delete", KIND, "--all", "--timeout=120s")


def sample(**changes: object) -> Json:
    return early(
        "mo",
        **{
            "dataVolumeCap": "2Gi",
            "logVolumeCap": "1Gi",
            "image": databases.chosen().image,
            **changes,
        },
    )


def asked(space: Space, *statements: str) -> list[tuple[object, ...]]:
    """Run statements through the Service as the account of all samples; give the last answer."""
    host = space.get("service", "mo")["spec"]["clusterIP"]
    with (
        pymysql.connect(
            host=host,
            port=6001,
            user="dump",
            password="111",
            connect_timeout=10,
            read_timeout=30,
            autocommit=True,
        ) as session,
        session.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


def rows(space: Space) -> int:
    """Return how many rows there are, as soon as anybody answers."""

    def look() -> int:
        try:
            return int(str(asked(space, "select count(*) from early.kept")[0][0]))
        except pymysql.MySQLError:
            return 0

    return eventually(look, 60)


def restarted(space: Space) -> tuple[str, int]:
    """Return the Pod's identity and how often its container was started anew."""
    pod = space.get("pod", "mo-0")
    (status,) = pod["status"]["containerStatuses"]
    return str(pod["metadata"]["uid"]), int(status["restartCount"])


def test_t03_t37_sql_is_answered_through_the_service(database: Space) -> None:
    answer = asked(database, "select version()")
    assert "MatrixOne" in str(answer[0][0])
    values = ", ".join(f"({n})" for n in range(ROWS))
    asked(
        database,
        "create database early",
        "create table early.kept (n int primary key)",
        f"insert into early.kept values {values}",  # noqa: S608 - numbers
    )
    assert rows(database) == ROWS
    pod = database.get("pod", "mo-0")
    assert [one["ready"] for one in pod["status"]["containerStatuses"]] == [True]
    listed = database.kubectl("exec", "mo-0", "--", "ls", "/store", "/log").split()
    assert [name for name in listed if name != "lost+found"] == ["/log:", "/store:", "mo-data"]
    assert database.kubectl("logs", "mo-0", "--tail=5").strip()


@pytest.mark.parametrize("grace", ["10", "0"])
def test_t38_rows_outlive_the_pod(database: Space, grace: str) -> None:
    before = {name: database.get("pvc", name)["metadata"]["uid"] for name in _claims()}
    options = ("--grace-period=0", "--force") if grace == "0" else (f"--grace-period={grace}",)
    begun = time.monotonic()
    database.kubectl("delete", "pod", "mo-0", *options)
    assert rows(database) == ROWS
    assert time.monotonic() - begun < 60
    assert {name: database.get("pvc", name)["metadata"]["uid"] for name in _claims()} == before


def _claims() -> tuple[str, str]:
    return "data-mo-0", "log-mo-0"


def test_t39_a_change_is_one_restart_behind_the_gate(database: Space) -> None:
    """With rollingDeploy, and with log lines on the volume from now on."""
    database.wait("mo", seconds=60)
    uid, _ = restarted(database)
    spec = {"rollingDeploy": True, "podAnnotations": {"a": "b"}}
    metadata = {"annotations": {"matrixone.matrixorigin.cn/log-to-volume": "true"}}
    change = json.dumps({"spec": spec, "metadata": metadata})
    database.kubectl("patch", KIND, "mo", "--type=merge", "-p", change)
    eventually(lambda: (one := database.get("pod", "mo-0")) and one["metadata"]["uid"] != uid)
    eventually(lambda: database.condition("mo", "Progressing").get("status") == "False", 90)
    database.wait("mo", seconds=60)

    now = restarted(database)
    assert now[1] == 0
    assert rows(database) == ROWS
    assert "MatrixoneRollingDeployWait" in database.reasons("mo")
    revisions = database.kubectl("get", "controllerrevisions", "-o", "name").split()
    assert len(revisions) == 2


def test_t39_log_lines_are_on_the_volume_and_in_the_output(database: Space) -> None:
    written = database.kubectl("exec", "mo-0", "--", "head", "-c", "200", "/log/mo.log")
    assert "INFO" in written
    assert database.kubectl("logs", "mo-0", "--tail=5").strip()


def test_t40_stopping_keeps_rows(database: Space) -> None:
    database.patch("mo", replicas=0)
    eventually(lambda: not database.get("pod", "mo-0"), 60)
    eventually(lambda: database.condition("mo", "Ready").get("reason") == "Stopped")
    database.patch("mo", replicas=1)
    assert rows(database) == ROWS


DATA = {"dn-data", "etl", "local", "logservice-data", "shared", "trace"}
"""Folders of the volume with data; a cache is anything else."""


def test_t42_the_cache_on_disk_has_its_share(database: Space) -> None:
    """What reads leave on disk, wherever it is, stays below a fifth of the volume."""
    asked(database, "select sum(n) from early.kept")
    listed = database.kubectl("exec", "mo-0", "--", "du", "-k", "-d1", "/store/mo-data")
    used = {Path(path).name: int(size) for size, path in map(str.split, listed.splitlines())}
    assert used["shared"] > 0, used
    whole = used.pop("mo-data")
    caches = whole - sum(size for name, size in used.items() if name in DATA)
    assert caches <= (2 << 20) // 5, used


def test_t27_rows_outlive_the_resource(database: Space) -> None:
    """Deleted with kept claims and made anew, the database goes on where it was."""
    database.patch("mo", disablePVCDeletionFinalizer=True)
    database.kubectl("delete", KIND, "mo", "--timeout=120s")
    eventually(lambda: not database.named("mo", "statefulset,service,pod"))
    assert len(database.named("mo", "pvc")) == 2

    database.apply(sample())
    database.wait("mo", seconds=120)
    assert rows(database) == ROWS


def test_t26_deleting_takes_the_data(database: Space) -> None:
    database.kubectl("delete", KIND, "mo", "--timeout=120s")
    assert not database.named("mo", "statefulset,service,pod,pvc,configmap")
