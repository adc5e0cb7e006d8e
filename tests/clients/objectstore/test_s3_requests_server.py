# SPDX-License-Identifier: Apache-2.0
"""A real S3 server is asked whether it takes what is written: also when its disk does not."""

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.addresses import (
    Reach,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import (
    s3,
    s3_connection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.s3_requests import (
    Bucket,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.signing import (
    Signer,
)

from testbed import object_store
from testbed.object_store import ObjectStore
from tests.e2e.disks import Disk

pytestmark = pytest.mark.rpc
SECONDS = 10.0


@pytest.fixture(scope="module", params=[False, True], ids=["HTTP", "HTTPS"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ObjectStore]:
    with object_store.serving(tmp_path_factory.mktemp("s3"), tls=request.param) as found:
        yield found


@pytest.fixture
def bucket(server: ObjectStore) -> Bucket:
    server.make_bucket("data")
    signer = Signer(server.access_key, server.secret_key, server.region)
    return Bucket(server.endpoint, "data", "some/where", True, signer, Reach.MACHINE)


def files(server: ObjectStore) -> list[str]:
    return [path.name for path in (server.folder / "data").rglob("*") if path.is_file()]


def test_a_question_leaves_nothing_behind(server: ObjectStore, bucket: Bucket) -> None:
    assert bucket.ask(SECONDS) is StorageAnswer.WRITABLE
    assert files(server) == []


def test_what_a_server_refuses(server: ObjectStore, bucket: Bucket) -> None:
    of_nobody = Signer("nobody", server.secret_key, server.region)
    wrong = Signer(server.access_key, "wrong", server.region)
    asked = {
        "bucket": replace(bucket, bucket="absent").ask(SECONDS),
        "id": replace(bucket, signer=of_nobody).ask(SECONDS),
        "secret": replace(bucket, signer=wrong).ask(SECONDS),
        "none": replace(bucket, signer=None).ask(SECONDS),
    }
    assert asked == {
        "bucket": StorageAnswer.NO_BUCKET,
        "id": StorageAnswer.DENIED,
        "secret": StorageAnswer.DENIED,
        "none": StorageAnswer.ANSWERS,
    }


def test_the_region_is_that_of_the_server(server: ObjectStore, bucket: Bucket) -> None:
    elsewhere = Signer(server.access_key, server.secret_key, "us-west-2")
    assert replace(bucket, signer=elsewhere).ask(SECONDS) is StorageAnswer.WRITABLE


def test_a_server_tells_the_region_of_a_bucket(server: ObjectStore, bucket: Bucket) -> None:
    keys = s3_connection.Keys(server.access_key, server.secret_key)
    certificates = str(server.authority) if server.authority else None
    to = s3_connection.Server(server.endpoint, "us-west-2", True, lambda: keys, certificates)
    store = s3.S3Store(s3_connection.Connection(to), bucket.bucket, "")
    assert store.region() == server.region


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system")
def test_a_disk_that_takes_nothing(server: ObjectStore, bucket: Bucket) -> None:
    with Disk(os.getpid(), server.make_bucket("data")).mounted() as disk:
        assert bucket.ask(SECONDS) is StorageAnswer.WRITABLE
        with disk.full():
            assert bucket.ask(SECONDS) is StorageAnswer.FULL
        with disk.read_only():
            assert bucket.ask(SECONDS) is StorageAnswer.REFUSED
        assert bucket.ask(SECONDS) is StorageAnswer.WRITABLE
        assert files(server) == []
