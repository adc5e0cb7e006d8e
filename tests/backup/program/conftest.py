# SPDX-License-Identifier: Apache-2.0
"""What the tests of the backup program share."""

from collections.abc import Iterator

import pytest

from testbed import object_store
from testbed.object_store import ObjectStore


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A real S3 server with the buckets ``backups`` and ``data``."""
    with object_store.serving(tmp_path_factory.mktemp("s3")) as server:
        for name in ("backups", "data"):
            server.make_bucket(name)
        yield server
