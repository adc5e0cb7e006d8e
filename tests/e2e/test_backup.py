# SPDX-License-Identifier: Apache-2.0
"""Backups of the real database under traffic, and its restore where nothing of it is left."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.backups import (
    Bucket,
    Folder,
    Place,
    back_up,
    require_rows_of,
    restore,
    root_secret,
    verified,
)
from tests.e2e.clusters import Cluster, operating, replacing
from tests.e2e.log_stores import await_replacement, wreck
from tests.e2e.traffic import Traffic, conclude, rows_seen
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

Json = dict[str, Any]


@pytest.fixture(params=["s3", "folder"])
def place(request: pytest.FixtureRequest, bed_with_jobs: TestBed) -> Iterator[Place]:
    """Where the database and its backups are."""
    if request.param == "folder":
        volumes = Folder(bed_with_jobs)
        yield volumes
        if volumes.volume:
            bed_with_jobs.kubectl(
                "delete", "pv", volumes.volume, "--ignore-not-found", "--wait=false"
            )
    else:
        store: ObjectStore = request.getfixturevalue("real_object_store")
        yield Bucket(store)


def test_a_lost_cluster_comes_back_from_an_address_alone(
    bed_with_jobs: TestBed, place: Place, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Full and incremental backup under traffic; then nothing is left but the bucket or folder.

    The new cluster is in another namespace, and no Backup is there that it could refer to.
    """
    bed, name = bed_with_jobs, type(place).__name__.lower()
    with operating(bed, tmp_path_factory.mktemp("operator"), "lost") as lost:
        traffic, backup, address = _backed_up(lost, place, name)
        root = root_secret(lost)
        lost.kubectl("delete", "mo", "--all", "--timeout=240s")
        lost.kubectl("delete", "backupjobs,backups", "--all", "--timeout=60s")
        place.require_lost(lost)
    bed.kubectl("delete", "namespace", lost.namespace, "--timeout=120s", "--ignore-not-found")
    with operating(bed, tmp_path_factory.mktemp("operator"), "found") as found:
        place.prepare(found)
        found.kubectl("apply", "-f", "-", input=json.dumps(root))
        resource = replacing(place.cluster(found.namespace))
        restore(found, resource, place.location(address), name)
        with found.connect() as session:
            require_rows_of(traffic, rows_seen(session), backup)
        said = found.get("mo", "mo")["status"]["restore"]
        assert said["phase"] == "Completed"
        assert said["id"] == backup["id"]
        _require_a_whole_life(found, place, name)
        found.kubectl("delete", "mo", "--all", "--timeout=240s")


def _backed_up(cluster: Cluster, place: Place, name: str) -> tuple[Traffic, Json, str]:
    """Return the clients, the record of an incremental backup, and its address."""
    place.prepare(cluster)
    resource = place.cluster(cluster.namespace)
    cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
    cluster.await_ready()
    with Traffic(cluster, f"backup-{name}") as traffic:
        time.sleep(5)
        full = back_up(cluster, place, "full")
        time.sleep(5)
        backup = back_up(cluster, place, "incremental", type="incremental", base={"latest": True})
        time.sleep(5)
    assert backup["base"]["id"] == full["id"]
    traffic.require_nothing_lost(longest=30)
    conclude(
        f"backup-{name}: full {full['size']} bytes in {full['files']} files, "
        f"incremental {backup['size']} bytes in {backup['files']} files"
    )
    return traffic, backup, f"{cluster.namespace}/incremental"


def _require_a_whole_life(cluster: Cluster, place: Place, name: str) -> None:
    """What is done with a cluster can be done with a restored one."""
    with Traffic(cluster, f"restored-{name}") as traffic:
        time.sleep(2)
        cluster.change("cnGroups/0/replicas", 2)
        eventually(lambda: len(cluster.pods("CNSet")) == 2, 60, "second compute node")
        cluster.await_ready()
        wreck(cluster, "mo-log-0")
        await_replacement(cluster, 0, 1)
        backup = back_up(cluster, place, "again")
        time.sleep(2)
    traffic.require_nothing_lost(longest=90)
    assert backup["type"] == "full"


def test_a_backup_is_proven_by_restoring_it(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """MatrixOne backs up without a word what has lost an object; reading finds the table."""
    place = Bucket(real_object_store)
    with operating(bed_with_jobs, tmp_path_factory.mktemp("operator"), "proven") as cluster:
        place.prepare(cluster)
        resource = place.cluster(cluster.namespace)
        cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
        cluster.await_ready()
        _fill(cluster)
        back_up(cluster, place, "whole")
        passed = verified(cluster, "whole", _CHECK)
        assert (passed["result"], passed.get("message")) == ("Passed", None)
        assert passed["rows"] > _ROWS

        data = place.store.folder / object_storage.BUCKET / cluster.namespace / "data"
        objects = [one for one in data.rglob("*_0000*") if one.is_file()]
        max(objects, key=lambda one: one.stat().st_size).unlink()
        back_up(cluster, place, "holed")
        failed = verified(cluster, "holed", _CHECK)
        assert (failed["result"], failed["reason"]) == ("Failed", "TableUnreadable")
        assert "table shop.large cannot be read" in failed["message"]
        conclude(f"verification: {passed['seconds']} s, {failed['seconds']} s with a lost object")

        left = {one.name for one in place.folder(cluster.namespace).iterdir() if any(one.iterdir())}
        assert left == {"whole", "holed"}
        assert [one["metadata"]["name"] for one in cluster.get("mo")["items"]] == ["mo"]
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")


_ROWS = 24_000
_CHECK = {"sql": "select count(*) from shop.large where n < 10", "rows": [[10]]}


def _fill(cluster: Cluster) -> None:
    """Create a table whose only object is the largest of the database."""
    eventually(lambda: _answers_at_all(cluster), 60, "answer to SQL")
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("create database shop")
        cursor.execute("create table shop.large (n int primary key, x varchar(500))")
        for first in range(0, _ROWS, 8_000):
            rows = ",".join(f"({n}, '{'y' * 300}')" for n in range(first, first + 8_000))
            cursor.execute(f"insert into shop.large values {rows}")  # noqa: S608
        cursor.execute("select mo_ctl('dn', 'flush', 'shop.large')")


def _answers_at_all(cluster: Cluster) -> bool:
    try:
        cluster.connect().close()
    except pymysql.MySQLError:
        return False
    return True
