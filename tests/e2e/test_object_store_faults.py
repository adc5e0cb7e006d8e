# SPDX-License-Identifier: Apache-2.0
"""An S3 server that is stopped, silent, full or read-only, under traffic: no row is lost."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from demo import object_storage
from testbed.bed import TestBed
from testbed.object_store import PROCESS, ObjectStore
from tests.e2e.clusters import Cluster, operating, tiny_cluster
from tests.e2e.disks import Disk
from tests.e2e.faults import hung, without_object_store
from tests.e2e.storage import endure, run

pytestmark = [pytest.mark.node, pytest.mark.scenario]

BUCKET = "faults"

Fault = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def bucket(real_object_store: ObjectStore) -> Iterator[Disk]:
    """A bucket on a small disk."""
    with Disk(os.getpid(), real_object_store.make_bucket(BUCKET)).mounted() as disk:
        yield disk


@pytest.fixture(scope="module")
def on_s3(
    real_testbed: TestBed,
    real_object_store: ObjectStore,
    bucket: Disk,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """A cluster whose bucket is on a small disk."""
    assert bucket.root.is_dir()
    with operating(real_testbed, tmp_path_factory.mktemp("operator"), "faults") as made:
        resource = object_storage.on_s3(tiny_cluster(), real_object_store)
        resource["spec"]["logService"]["sharedStorage"]["s3"]["path"] = f"{BUCKET}/{made.namespace}"
        run(made, [object_storage.secret(real_object_store), resource])
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


DEGRADED = {
    "stopped": "StorageUnreachable",
    "hung": "StorageUnreachable",
    "full": "StorageNotWritable",
    "read-only": "StorageNotWritable",
}


@pytest.mark.parametrize("how", DEGRADED)
def test_an_object_store_is_out_of_order(
    real_testbed: TestBed, on_s3: Cluster, bucket: Disk, how: str
) -> None:
    faults: dict[str, Fault] = {
        "stopped": lambda: without_object_store(real_testbed),
        "hung": lambda: hung(real_testbed, PROCESS),
        "full": bucket.full,
        "read-only": bucket.read_only,
    }
    endure(on_s3, f"s3-{how}", faults[how](), DEGRADED[how])
