# SPDX-License-Identifier: Apache-2.0
"""Test vectors of the API, and the functions behind them."""

import hashlib
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import (
    digests as digest,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import (
    durations as duration,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import (
    errors,
    fields,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import (
    quantities as quantity,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r


@pytest.mark.parametrize(
    ("address", "uuid"),
    [
        ("default-cn-0.default-cn-headless.test.svc", "64396564-3061-3238-3164-363835623561"),
        (
            "mo-tp-cn-abcde.mo-tp-cn-headless.prod.svc",
            "31653663-6438-6537-3362-373633636432",
        ),
        ("mo-dn-0.mo-dn-headless.prod.svc", "61636136-6635-6561-3338-633633643637"),
    ],
)
def test_hash_uuid(address: str, uuid: str) -> None:
    assert digest.hash_uuid(address) == uuid


def test_ordinal_uuids() -> None:
    assert digest.log_uuid(11) == "00000000-0000-0000-0000-00000000000b"
    assert digest.tn_uuid(11) == "00000000-0000-0000-0000-10000000000b"


def test_incarnation_stands_in_the_last_short_group() -> None:
    assert digest.log_uuid(2, 1) == "00000000-0000-0000-0001-000000000002"
    assert digest.log_uuid(0, 0x1A) == "00000000-0000-0000-001a-000000000000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "ef46db3"), ("hello world", "45ab673"), ("a = 1\n", "215fe6f")],
)
def test_digest7(text: str, expected: str) -> None:
    assert digest.digest7(text) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # From the xxHash project's own sanity tables and well-known values.
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_xxh64(data: bytes, expected: int) -> None:
    assert digest.xxh64(data) == expected


def test_config_map_suffix() -> None:
    data = {"config.toml": "a = 1\n", "start.sh": "echo hi > /dev/null && true\n"}
    assert digest.compact_json(data) == (
        '{"config.toml":"a = 1\\n","start.sh":"echo hi \\u003e /dev/null \\u0026\\u0026 true\\n"}'
    )
    assert digest.config_suffix(data) == "cdc1e6a"


@pytest.mark.parametrize("text", ["<>&", "\u2028\u2029", "日本語", '"\\'])
def test_suffix_is_made_of_ascii(text: str) -> None:
    assert digest.config_suffix({"config.toml": text}).isascii()
    assert "<" not in digest.compact_json({"k": text})


@pytest.mark.parametrize(
    ("name", "number"), [("mo", 8850055262063083118), ("test", 2877348464167207068)]
)
def test_deployment_id(name: str, number: int) -> None:
    assert digest.deployment_id(name) == number


def test_digest7_serves_other_hashes_of_names() -> None:
    assert digest.digest7("default:mo") == "62e6fe6"
    assert digest.digest7("prod:mo") == "da0cb38"


def test_gomemlimit() -> None:
    objects = r.render(r.cnset(memoryLimitPercent=90, resources={"limits": {"memory": "12Gi"}}))
    assert r.env(objects)["GOMEMLIMIT"] == "11596411699"


@pytest.mark.parametrize(
    ("volume", "cache"),
    [("1Gi", "966367641"), ("5Gi", "4608Mi"), ("10Gi", "9Gi"), ("20Gi", "18Gi")],
)
def test_disk_cache_is_nine_tenths(volume: str, cache: str) -> None:
    objects = r.render(r.cnset(cacheVolume={"size": volume}))
    assert r.config(objects)["fileservice"][1]["cache"]["disk-capacity"] == f"{cache}B"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("1Gi", 2**30),
        ("1.5Gi", 3 * 2**29),
        (".5Ki", 512),
        ("100M", 10**8),
        ("1e9", 10**9),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("128974848000m", 128974848),
        ("1500m", 2),
        (1073741824, 2**30),
        ("+5", 5),
        ("0", 0),
    ],
)
def test_quantity_in_bytes(value: Any, size: int) -> None:
    assert quantity.to_bytes(value) == size


@pytest.mark.parametrize("value", ["8Ei", f"{2**63}", "-8.1Ei", f"{'1' * 40}Gi", 2**70, "9.3e18"])
def test_what_kubernetes_would_cut_off_is_refused(value: Any) -> None:
    """It reads each as 2^63-1: a mistyped size would grow claims to that, and none can shrink."""
    with pytest.raises(errors.QuantityError, match=r"beyond 2\^63-1"):
        quantity.to_bytes(value)
    assert quantity.to_bytes(f"{2**63 - 1}") == 2**63 - 1


@pytest.mark.parametrize("value", ["", "Gi", "1 Gi", "1gi", "ten", "1GiB", True, None, [], "1e99"])
def test_what_is_no_quantity_is_refused(value: Any) -> None:
    with pytest.raises(errors.QuantityError, match=r"quantity|exponent"):
        quantity.to_bytes(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1Gi", "1GiB"),
        ("100Mi", "100MiB"),
        ("966367641", "966367641B"),
        (1073741824, "1073741824B"),
        ("1500m", "2B"),
    ],
)
def test_size_as_matrixone_reads_it(value: Any, text: str) -> None:
    assert quantity.matrixone_size(value, decimal_as_bytes=False) == text


@given(st.integers(min_value=0, max_value=2**62))
def test_canonical_form_keeps_the_value(size: int) -> None:
    assert quantity.to_bytes(quantity.canonical(size)) == size


@given(st.integers(min_value=1, max_value=2**62), st.integers(1, 100))
def test_a_part_is_never_more_than_its_share(size: int, percent: int) -> None:
    found = quantity.to_bytes(quantity.part(str(size), percent, 100))
    assert found * 100 <= size * percent < (found + 1) * 100


@given(
    st.decimals(min_value=0, max_value=10**6, places=3, allow_nan=False),
    st.sampled_from(["", "Ki", "Mi", "Gi", "k", "M", "G", "m"]),
)
def test_bytes_are_rounded_up(number: Any, suffix: str) -> None:
    exact = quantity.parse(f"{number}{suffix}")
    assert exact <= quantity.to_bytes(f"{number}{suffix}") < exact + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5m", 300), ("90s", 90), ("1h30m", 5400), ("1.5h", 5400), ("100ms", 1), ("0", 0), ("", 0)],
)
def test_duration_in_seconds(text: str, expected: int) -> None:
    assert duration.seconds(fields.Fields("spec", {"t": text}), "t") == expected


@pytest.mark.parametrize("text", ["5", "m", "5 m", "-5m", "5m30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.t: must be a duration"):
        duration.seconds(fields.Fields("spec", {"t": text}), "t")


@given(st.text())
def test_hash_uuid_follows_its_definition(text: str) -> None:
    head = hashlib.sha256(f"{text}\n".encode()).hexdigest()[:16]
    flat = digest.hash_uuid(text).replace("-", "")
    assert bytes.fromhex(flat).decode() == "".join(head[i + 1] + head[i] for i in range(0, 16, 2))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("10G", "10000000000B"),
        ("500M", "500000000B"),
        ("1.5k", "1500B"),
        ("10Gi", "10GiB"),
        ("1e9", "1000000000B"),
        (1000, "1000B"),
    ],
)
def test_sizes_to_the_base_of_ten_are_bytes(value: str | int, text: str) -> None:
    assert quantity.matrixone_size(value, decimal_as_bytes=True) == text


def test_an_exponent_is_never_left_to_matrixone() -> None:
    assert quantity.matrixone_size("1e9", decimal_as_bytes=False) == "1000000000B"
