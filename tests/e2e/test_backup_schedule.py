# SPDX-License-Identifier: Apache-2.0
"""Chains of backups that a schedule makes and removes, on the real database under traffic."""

import json
import signal
import time
from typing import Any

import pytest

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.backups import (
    BUCKET,
    Bucket,
    record,
    require_rows_of,
    restore,
    root_secret,
    status,
)
from tests.e2e.clusters import Cluster, operating
from tests.e2e.traffic import Traffic, conclude, rows_seen
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

Json = dict[str, Any]

_MADE = 5
"""With a full one every three: a whole chain, and the beginning of the next one."""
_MADE_SECONDS = 600
_SCHEDULE = "backupschedule/minutely"


def test_a_schedule_keeps_a_chain_that_restores_when_all_else_is_lost(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """What retention removes is gone from the bucket, and the claim of the lost cluster's data."""
    bed, place = bed_with_jobs, Bucket(real_object_store)
    with operating(bed, tmp_path_factory.mktemp("operator"), "chain", everywhere=True) as lost:
        place.prepare(lost)
        lost.kubectl("apply", "-f", "-", input=json.dumps(place.cluster(lost.namespace)))
        lost.await_ready()
        traffic, newest = _scheduled(lost, place)
        root = root_secret(lost)
        _lose(lost, place)
    with operating(bed, tmp_path_factory.mktemp("operator"), "again", everywhere=True) as found:
        place.prepare(found)
        found.kubectl("apply", "-f", "-", input=json.dumps(root))
        address = newest["meta"]["location"]
        path = address["s3"]["path"].removeprefix(f"{BUCKET}/")
        restore(found, place.cluster(found.namespace), place.location(path), "schedule")
        with found.connect() as session:
            require_rows_of(traffic, rows_seen(session), record(place.folder(path)))
        found.kubectl("delete", "mo", "--all", "--timeout=240s")


def _scheduled(cluster: Cluster, place: Bucket) -> tuple[Traffic, Json]:
    """Have backups made every minute, by an operator that is killed during the second one.

    Returns:
        The clients, and the newest Backup.
    """
    order = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupSchedule",
        "metadata": {"name": "minutely"},
        "spec": {
            "schedule": "* * * * *",
            "immediate": True,
            "fullEvery": 3,
            "retention": {"keepLast": 2},
            "template": {"source": {"clusterRef": "mo"}, "target": place.location("scheduled")},
        },
    }
    with Traffic(cluster, "backup-schedule") as traffic:
        time.sleep(5)
        cluster.kubectl("apply", "-f", "-", input=json.dumps(order))
        eventually(
            lambda: _made(cluster) and status(cluster, _SCHEDULE).get("active"),
            _MADE_SECONDS,
            "a second backup under way",
        )
        cluster.operator.end(signal.SIGKILL)
        cluster.operator.start()
        eventually(
            lambda: len(_made(cluster)) >= _MADE,
            _MADE_SECONDS,
            f"{_MADE} backups",
            otherwise=lambda: json.dumps(status(cluster, _SCHEDULE), indent=1),
        )
        cluster.patch("backupschedule", "minutely", {"spec": {"suspend": True}})
        eventually(lambda: not status(cluster, _SCHEDULE).get("active"), 120, "end of all jobs")
        time.sleep(5)
    traffic.require_nothing_lost(longest=30)
    history = status(cluster, _SCHEDULE)["history"][::-1]
    assert {one["phase"] for one in history} == {"Completed"}
    types = [one["type"] for one in history]
    assert types == [("full", "incremental", "incremental")[n % 3] for n in range(len(types))]
    _require_that_only_the_newest_and_their_bases_are_left(cluster, place, history)
    conclude(f"backup-schedule: {len(types)} backups: {', '.join(types)}")
    [newest] = [one for one in _backups(cluster) if one["metadata"]["name"] == _name(history[-1])]
    return traffic, newest


def _made(cluster: Cluster) -> list[Json]:
    history = status(cluster, _SCHEDULE).get("history", [])
    return [one for one in history if one["phase"] == "Completed"]


def _name(one: Json) -> str:
    return str(one["backup"])


def _backups(cluster: Cluster) -> list[Json]:
    chosen = f"matrixorigin.io/namespace={cluster.namespace}"
    return list(cluster.get("backups", "-l", chosen)["items"])


def _require_that_only_the_newest_and_their_bases_are_left(
    cluster: Cluster, place: Bucket, history: list[Json]
) -> None:
    """Two are kept, with what they are based on: their objects, and no others, are in the bucket."""
    base = {_name(one): one.get("base") for one in history}
    kept: set[str] = set()
    for one in history[-2:]:
        name: str | None = _name(one)
        while name:
            kept.add(name)
            name = base[name]
    assert len(kept) < len(history), "nothing was to be removed: this proves nothing"

    def left() -> set[str]:
        return {one["metadata"]["name"] for one in _backups(cluster)}

    eventually(lambda: left() == kept, 120, f"only {kept}", otherwise=lambda: str(left()))
    paths = {one["meta"]["location"]["s3"]["path"] for one in _backups(cluster)}
    folder = place.folder("scheduled")
    with_files = {
        # namespace, schedule and time
        file.relative_to(folder).parts[:3]
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert {f"{BUCKET}/scheduled/{'/'.join(parts)}" for parts in with_files} == paths


def _lose(cluster: Cluster, place: Bucket) -> None:
    """Delete all that there is of a cluster in Kubernetes and in the bucket, but its backups."""
    data = place.store.folder / object_storage.BUCKET / cluster.namespace
    [claim] = cluster.get("bucketclaims")["items"]
    assert claim["status"]["state"] == "InUse"
    assert any(file.is_file() for file in data.rglob("*"))
    cluster.kubectl("delete", "backupschedule", "--all", "--timeout=60s")
    for backup in _backups(cluster):
        cluster.patch("backup", backup["metadata"]["name"], {"deletionPolicy": "Retain"})
        cluster.kubectl("delete", "backup", backup["metadata"]["name"], "--timeout=60s")
    cluster.kubectl("delete", "mo", "--all", "--timeout=240s")
    eventually(
        lambda: not cluster.get("bucketclaims")["items"],
        180,
        "end of the BucketClaim",
        otherwise=lambda: json.dumps(cluster.get("bucketclaims")["items"], indent=1),
    )
    assert not [file for file in data.rglob("*") if file.is_file()]
