# SPDX-License-Identifier: Apache-2.0
"""The real database with its data in a bucket: it comes up, scales, loses a log store, and goes."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.e2e.clusters import (
    DRAIN_SECONDS,
    Cluster,
    draining,
    operating,
    replacing,
    tiny_cluster,
)
from tests.e2e.compute_nodes import pods, stores
from tests.e2e.log_stores import await_replacement, events, wreck
from tests.e2e.traffic import Traffic
from tests.support.waiting import eventually

pytestmark = pytest.mark.node

BUCKET = object_storage.BUCKET


@pytest.fixture(scope="module")
def cluster(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """A cluster on S3 with two compute nodes that drain and log stores that are replaced."""
    real_object_store.make_bucket(BUCKET)
    folder = tmp_path_factory.mktemp("operator")
    with operating(bed_with_jobs, folder, "s3") as made:
        resource = object_storage.on_s3(draining(replacing(tiny_cluster())), real_object_store)
        resource["spec"]["logService"]["sharedStorage"]["s3"]["path"] = f"{BUCKET}/{made.namespace}"
        items = [object_storage.secret(real_object_store), resource]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        made.kubectl("apply", "-f", "-", input=json.dumps(listed))
        made.await_ready()
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


@pytest.fixture(scope="module")
def prefix(cluster: Cluster, real_object_store: ObjectStore) -> Path:
    """Where the cluster's objects are."""
    return real_object_store.folder / BUCKET / cluster.namespace


def objects(prefix: Path, below: str) -> set[str]:
    return {path.name for path in (prefix / below).rglob("*") if path.is_file()}


def test_rows_are_objects_of_the_bucket(cluster: Cluster, prefix: Path) -> None:
    """What is committed and flushed can be read again, and stands below the prefix."""
    eventually(lambda: list(stores(cluster).values()) == ["Working"] * 2, 60, "two working nodes")
    before = objects(prefix, "data")
    with Traffic(cluster, "s3-first") as traffic:
        eventually(lambda: len(traffic.acknowledged) >= 20, 60, "twenty rows")
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("select mo_ctl('dn', 'flush', 'traffic.rows_seen')")
    eventually(lambda: bool(objects(prefix, "data") - before), 30, "new objects")
    traffic.require_nothing_lost(longest=30, at_least=20)


def test_pods_know_no_other_authorities(cluster: Cluster) -> None:
    """With AWS_CA_BUNDLE in its environment, mo-service of this version does not start."""
    for kind in ("LogSet", "DNSet", "CNSet"):
        for pod in cluster.pods(kind).values():
            names = {one["name"] for one in pod["spec"]["containers"][0]["env"]}
            assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} <= names
            assert "AWS_CA_BUNDLE" not in names


def test_credentials_are_in_no_configuration(
    cluster: Cluster, real_object_store: ObjectStore
) -> None:
    """They stand in the Secret alone."""
    text = cluster.kubectl("get", "configmap,statefulset,deployment,pod,mo,logset", "-o", "json")
    assert real_object_store.secret_key not in text
    assert real_object_store.secret_key not in cluster.operator.log.read_text()


def test_a_scale_in_loses_no_row_and_no_query(cluster: Cluster) -> None:
    with Traffic(cluster, "s3-scale-in") as traffic:
        time.sleep(2)
        cluster.change("cnGroups/0/replicas", 1)
        eventually(lambda: len(pods(cluster)) == 1, DRAIN_SECONDS, "the end of a compute node")
        time.sleep(2)
    traffic.require_nothing_lost(longest=45)


def test_a_lost_log_store_is_replaced_and_no_row_is_lost(cluster: Cluster) -> None:
    with Traffic(cluster, "s3-log-store-lost") as traffic:
        time.sleep(2)
        wreck(cluster, "mo-log-2")
        await_replacement(cluster, 2, 1)
        time.sleep(2)
    assert {"FailingOver", "FailedOver"} <= set(events(cluster))
    traffic.require_nothing_lost(longest=90)


def test_a_missing_bucket_is_named(cluster: Cluster, real_object_store: ObjectStore) -> None:
    """A cluster that cannot reach its bucket says so, and another one is not disturbed."""
    resource = object_storage.on_s3(tiny_cluster(), real_object_store)
    resource["metadata"]["name"] = "nowhere"
    resource["spec"]["logService"]["sharedStorage"]["s3"]["path"] = "no-such-bucket/nowhere"
    cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
    try:
        eventually(lambda: "no-such-bucket" in waits_for(cluster), 120, "what it waits for")
        assert "BucketClaim" in waits_for(cluster)
        assert cluster.condition("mo", "mo", "Ready")["status"] == "True"
    finally:
        cluster.kubectl("delete", "mo", "nowhere", "--timeout=120s")


def waits_for(cluster: Cluster) -> str:
    """Return what the status of the cluster says of its log service."""
    conditions = (cluster.get("mo", "nowhere").get("status") or {}).get("conditions") or []
    return " ".join(one["message"] for one in conditions)
