# SPDX-License-Identifier: Apache-2.0
"""A peer that answers to use up time and memory gets a refusal, within the deadline.

Whoever can bind the address of a log store (a tenant's own Pod behind a MatrixOneCluster's Service)
chooses every byte that the operator reads.
"""

import re
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import xxh64
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    LockService,
    LogStore,
    MalformedAnswer,
    MatrixOneError,
    QueryService,
    Reach,
    TimedOut,
    decoding,
    framing,
    reading,
)

from tests.clients.matrixone import scripted

MIB = 1 << 20
MOST_MEMORY = 64 * MIB
PACKED = 0x0E
PLAIN = 0x06


def frame(flags: int, body: bytes, length: int | None = None) -> bytes:
    """A frame with checksum and deadline, whatever its body is."""
    checksum = struct.pack(">Q", xxh64(body) if len(body) <= 8 * MIB else 0)
    content = bytes([flags]) + checksum + struct.pack(">qB", 10**9, 0) + body
    return struct.pack(">i", len(content) if length is None else length) + content


def repeating(head: bytes, length: int, distance: int) -> bytes:
    """An LZ4 block: a head of at most 14 bytes, its last ones over and over, and a zero.

    Each byte of it stands for 255 of its content.
    """
    more = length - 4
    literals = bytes([len(head) << 4 | 15]) + head + distance.to_bytes(2, "little")
    return literals + b"\xff" * ((more - 15) // 255) + bytes([(more - 15) % 255, 0x10]) + b"\x00"


def empty_elements(size: int) -> bytes:
    """A body of empty log stores in the details of a cluster: two bytes each."""
    inner = b"\x1a\x00" * (size // 2)
    return b"\x4a" + varint(len(inner)) + inner


def packed_elements(size: int) -> bytes:
    """The same, packed to 1/255 of it."""
    return repeating(b"\x4a" + varint(size) + b"\x1a\x00", size - 2, 2)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def short_matches(size: int) -> bytes:
    """An LZ4 block of many references, each to bytes that stand 60,000 bytes earlier."""
    literals = 60_000
    rest = literals - 15
    head = b"\xf0" + b"\xff" * (rest // 255) + bytes([rest % 255]) + bytes(literals)
    token = literals.to_bytes(2, "little") + b"\x00"
    return head + token * (size // 3)


def ask(sent: Callable[[], bytes], seconds: float) -> tuple[MatrixOneError, float]:
    """Return the error of a call and the seconds it took."""
    answer = sent()
    with scripted.serving(scripted.replying(lambda _: answer)) as address:
        begun = time.monotonic()
        with LogStore(address, Reach.MACHINE) as store, pytest.raises(MatrixOneError) as caught:
            store.hosts_hakeeper(Deadline.after(seconds))
        return caught.value, time.monotonic() - begun


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (lambda: frame(PACKED, packed_elements(MIB)), "LogStores: .* 65536 elements"),
        (lambda: frame(PLAIN, empty_elements(MIB)), "LogStores: .* 65536 elements"),
        (lambda: frame(PLAIN, empty_elements(4 * MIB - 100)), "LogStores: .* 65536 elements"),
        (lambda: frame(PACKED, repeating(b"\x00", 90 * MIB, 1)), "larger than the 4194304 bytes"),
        (lambda: frame(PLAIN, bytes(4 * MIB + 1)), "more than 4194304 bytes"),
        (lambda: frame(PLAIN, b"", 100 * MIB), "at most 4259840 are accepted"),
    ],
    ids=[
        "packed elements",
        "elements",
        "most elements",
        "bomb",
        "large body",
        "large frame",
    ],
)
def test_large_answers_are_refused(sent: Callable[[], bytes], why: str) -> None:
    error, took = ask(sent, 20)
    assert isinstance(error, MalformedAnswer), error
    assert error.args[0].startswith("log service CHECK_HAKEEPER at 127.")
    assert re.search(why, str(error)), error
    assert took < 6


@pytest.mark.parametrize("size", [MIB, 4 * MIB - 100])
def test_memory_is_bounded(size: int) -> None:
    content = frame(PACKED, packed_elements(size))
    tracemalloc.start()
    (one,) = framing.FrameBuffer().feed(content)
    with pytest.raises(MalformedAnswer):
        decoding.decode(scripted.tables.logservice.RESPONSE, one.body)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST_MEMORY


def test_decoding_ends_with_the_deadline() -> None:
    """Two million fields that are overwritten again and again: no element, only work."""
    body = b"\x10\x01" * (2 * MIB - 100)
    error, took = ask(lambda: frame(PLAIN, body), 0.5)
    assert isinstance(error, TimedOut), error
    assert str(error).startswith("log service CHECK_HAKEEPER at 127.")
    assert "decoding" in str(error)
    assert took < 1.5


def test_the_error_of_a_service_is_decoded_within_the_deadline() -> None:
    """Its bytes are a message of their own, and four MiB of them are much work."""
    table = scripted.tables.services.LOCK_RESPONSE
    values = {"RequestID": 1, "Method": 14, "Error": b"\x08\x01" * (2 * MIB - 100)}
    answer = frame(PLAIN, scripted.protobuf.encode(table, values))

    def send(peer: socket.socket) -> None:
        peer.recv(1 << 16)
        peer.sendall(answer)
        scripted.silent(peer)

    with scripted.serving(send) as address:
        begun = time.monotonic()
        with LockService(address, Reach.MACHINE) as service, pytest.raises(TimedOut) as caught:
            service.can_restart("a", Deadline.after(0.5))
        assert time.monotonic() - begun < 2
    assert str(caught.value).startswith(f"lock service CAN_RESTART at {address}: decoding")


def test_the_config_of_a_compute_node_is_decoded_within_the_deadline() -> None:
    """Whoever has its Pod chooses what it registers with."""
    config = b"\x12\x00" * (2 * MIB - 100)
    (store,) = reading.cluster_details({"CNStores": [{"ConfigData": config}]}).cn_stores
    with QueryService("127.0.0.1:1", Reach.MACHINE) as service:
        begun = time.monotonic()
        with pytest.raises(TimedOut, match=r"^query service GET_REPLICA_COUNT at 127.*decoding"):
            service.replicas(store, Deadline.after(0.5))
        assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [(253402300799, 2**31 - 1), (-62135596799, -(2**31)), (5, -1), (2**63 - 1, 0), (-(2**63), 0)],
)
def test_a_time_that_no_calendar_has_is_none(seconds: int, nanos: int) -> None:
    assert reading.timestamp({"seconds": seconds, "nanos": nanos}) is None


def test_trying_thousands_of_stores_ends_with_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Discovery may name as many: to give each of them up takes a while, too."""
    named = [f"127.0.0.2:{one + 1}" for one in range(50_000)]
    with HAKeeper(addresses=["127.0.0.2:1"], reach=Reach.MACHINE) as hakeeper:
        monkeypatch.setattr(hakeeper._stores, "_candidates", lambda _deadline: list(named))
        begun = time.monotonic()
        with pytest.raises(MatrixOneError):
            hakeeper.cluster_details(Deadline.after(0.2))
        assert time.monotonic() - begun < 0.7


def test_unpacking_ends_with_the_deadline() -> None:
    error, took = ask(lambda: frame(PACKED, short_matches(3 * MIB)), 0.2)
    assert isinstance(error, TimedOut), error
    assert took < 1.2


def test_hakeeper_gives_up_on_hostile_stores_in_time() -> None:
    """Every store is hostile, and asked again and again: all of it ends with the deadline."""
    answer = frame(PLAIN, empty_elements(2 * MIB))
    with (
        scripted.serving(scripted.replying(lambda _: answer)) as one,
        scripted.serving(scripted.replying(lambda _: answer)) as other,
        HAKeeper(addresses=[one, other], reach=Reach.MACHINE) as hakeeper,
    ):
        begun = time.monotonic()
        with pytest.raises(MatrixOneError):
            hakeeper.cluster_details(Deadline.after(2))
        assert time.monotonic() - begun < 4


def test_a_large_but_honest_answer_is_read() -> None:
    """A packed answer just within the bounds."""
    stores = [{"UUID": f"{number:036}"} for number in range(10_000)]
    table = scripted.tables.logservice.RESPONSE
    body = scripted.protobuf.encode(table, {"ClusterDetails": {"CNStores": stores}})
    packed = framing.FrameBuffer().feed(frame(PLAIN, body))
    decoded = decoding.decode(table, packed[0].body, Deadline.after(20))
    assert len(decoded["ClusterDetails"]["CNStores"]) == len(stores)
