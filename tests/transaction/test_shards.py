# SPDX-License-Identifier: Apache-2.0
"""What a transaction node is given so that it goes on where its predecessor was."""

import base64
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import digests
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.types import References
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.rendering import (
    render_dnset,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction.shards import (
    TNShard,
    crc32c,
    lines,
    parse,
    shard_file,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r

# As MatrixOne 1.3 wrote it on its own disk.
WRITTEN = bytes.fromhex(
    "ac85b8440a2464646464646464642d303030302d303030302d303030302d303030303030303030303030"
    "121b0a0408021001108880101a0f3132372e302e302e313a3232303030"
)
SERVED = "0 2 1 262152\n"
UUID = "00000000-0000-0000-0000-100000000000"


def kept(text: str, **spec: Any) -> dict[str, Any]:
    """Return the ConfigMap of a DNSet whose transaction nodes serve something."""
    references: References = {"logSet": r.logset()}
    objects = render_dnset(r.dnset(**spec), start_script="", references=references, shards=text)
    return r.find(objects, "ConfigMap", "mo-dn-shards")


def test_the_file_is_the_one_that_matrixone_writes() -> None:
    shards = [TNShard(0, 2, 1, 262152)]
    found = shard_file("dddddddd-0000-0000-0000-000000000000", "127.0.0.1:22000", shards)
    assert found == WRITTEN


@pytest.mark.parametrize(
    ("data", "checksum"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)]
)
def test_checksums_are_those_of_rfc_3720(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum


@given(st.lists(st.builds(TNShard, *[st.integers(0, 2**40)] * 4), max_size=5))
def test_shards_survive_as_text(shards: list[TNShard]) -> None:
    assert parse(lines(shards)) == sorted(shards)


def test_a_transaction_node_finds_its_shard() -> None:
    found = kept(SERVED)
    assert found["data"] == {"shards": SERVED}
    content = base64.b64decode(found["binaryData"][UUID])
    assert UUID.encode() in content
    assert b"mo-dn-0.mo-dn-headless.prod.svc:41010" in content
    assert "immutable" not in found


def test_its_names_follow_the_identity_and_the_domain() -> None:
    found = kept(SERVED, dnsBasedIdentity=True, clusterDomain="c.example")
    ((uuid, content),) = found["binaryData"].items()
    assert uuid == digests.hash_uuid("mo-dn-0.mo-dn-headless.prod.svc")
    assert b"mo-dn-0.mo-dn-headless.prod.svc.c.example:41010" in base64.b64decode(content)


@pytest.mark.parametrize("text", ["", "0 2 one 262152\n"], ids=["nothing known", "not ours"])
def test_what_is_not_sure_is_not_put_back(text: str) -> None:
    found = kept(text)
    assert found["data"] == {"shards": ""}
    assert found["binaryData"] == {}


def test_a_file_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        shard_file(UUID, "x" * 100, [TNShard(0, n, n, n) for n in range(30)])
