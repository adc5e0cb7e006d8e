# SPDX-License-Identifier: Apache-2.0
"""A call ends in time with an answer or a typed error, whatever the other side does."""

import socket
import time

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    LogStore,
    MalformedAnswer,
    MatrixOneError,
    NotLeader,
    QueryService,
    Reach,
    TimedOut,
    Unreachable,
    addresses,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clients.matrixone import scripted

SHORT = 1.0
"""A deadline that is long enough to connect on a busy machine."""
LATE = 2.0
"""How much later such a machine may notice it."""


def timed(begun: float) -> float:
    return time.monotonic() - begun


def ask(address: str, seconds: float = SHORT) -> bool:
    with LogStore(address, Reach.MACHINE) as store:
        return store.hosts_hakeeper(Deadline.after(seconds))


def yes(asked: scripted.protobuf.Values) -> bytes:
    return scripted.fitting(asked, IsHAKeeper=True)


def test_a_good_answer() -> None:
    with scripted.serving(scripted.replying(yes)) as address:
        assert ask(address, 5) is True


def test_an_answer_in_single_bytes() -> None:
    def slowly(peer: socket.socket) -> None:
        for byte in yes(scripted.request(peer)):
            peer.sendall(bytes([byte]))

    with scripted.serving(slowly) as address:
        assert ask(address, 5) is True


def test_answers_of_calls_that_were_given_up_are_dropped() -> None:
    def late(asked: scripted.protobuf.Values) -> bytes:
        other = {**asked, "RequestID": 7777}
        return scripted.fitting(other, IsHAKeeper=False) + yes(asked)

    with scripted.serving(scripted.replying(late)) as address:
        assert ask(address, 5) is True


def test_unsolicited_pings_and_streams_are_no_answers() -> None:
    frame = scripted.framing.Frame
    flag = scripted.framing.Flag
    noise = b"".join(
        scripted.framing.encode_frame(frame(flag(bits), bytes(8), timeout=1, sequence=1))
        for bits in (0x26, 0x46, 0x17)
    )
    with scripted.serving(scripted.replying(lambda asked: noise + yes(asked))) as address:
        assert ask(address, 5) is True


@pytest.mark.parametrize("bytes_sent", [0, 3, 5, 40])
def test_silence_ends_with_the_deadline(bytes_sent: int) -> None:
    def stalled(peer: socket.socket) -> None:
        peer.sendall(yes(scripted.request(peer))[:bytes_sent])
        scripted.silent(peer)

    with scripted.serving(stalled) as address:
        begun = time.monotonic()
        with pytest.raises(TimedOut, match="CHECK_HAKEEPER at 127"):
            ask(address)
        assert SHORT * 0.9 < timed(begun) < SHORT + LATE


def test_a_trickle_does_not_move_the_deadline() -> None:
    """Each byte comes well in time, and all of them together never."""

    def trickle(peer: socket.socket) -> None:
        scripted.request(peer)
        peer.sendall((1 << 20).to_bytes(4, "big"))
        for _ in range(400):
            peer.sendall(b"x")
            time.sleep(0.02)

    with scripted.serving(trickle) as address:
        begun = time.monotonic()
        with pytest.raises(TimedOut):
            ask(address)
        assert timed(begun) < SHORT + LATE


def test_a_flood_of_foreign_answers_does_not_move_the_deadline() -> None:
    def flood(peer: socket.socket) -> None:
        asked = scripted.request(peer)
        for number in range(1_000_000):
            peer.sendall(scripted.fitting({**asked, "RequestID": 10 + number}))

    with scripted.serving(flood) as address:
        begun = time.monotonic()
        with pytest.raises(TimedOut):
            ask(address)
        assert timed(begun) < SHORT + LATE


def broken_checksum(asked: scripted.protobuf.Values) -> bytes:
    frame = bytearray(yes(asked))
    frame[-1] ^= 1
    return bytes(frame)


@pytest.mark.parametrize(
    "make",
    [
        broken_checksum,
        lambda asked: scripted.fitting({**asked, "Method": 11}),
        lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
        lambda _: bytes(16),
        lambda _: b"\xff" * 16,
        lambda _: (5).to_bytes(4, "big") + b"\x07" * 5,
    ],
    ids=["checksum", "other call", "http", "zeros", "ones", "too short"],
)
def test_what_is_no_answer(make: object) -> None:
    with (
        scripted.serving(scripted.replying(make)) as address,  # type: ignore[arg-type]
        pytest.raises(MalformedAnswer, match="CHECK_HAKEEPER at 127"),
    ):
        ask(address, 5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(min_size=1, max_size=300))
def test_noise_ends_in_a_typed_error(noise: bytes) -> None:
    def babble(peer: socket.socket) -> None:
        scripted.request(peer)
        peer.sendall(noise)
        peer.shutdown(socket.SHUT_WR)

    with scripted.serving(babble) as address, pytest.raises((MalformedAnswer, Unreachable)):
        ask(address, 5)


def test_a_peer_that_hangs_up() -> None:
    with (
        scripted.serving(scripted.hanging_up) as address,
        pytest.raises(Unreachable, match=r"CHECK_HAKEEPER at 127.*(closed|reset)"),
    ):
        ask(address, 5)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(Unreachable, match="refused"):
        ask(address, 5)


def test_a_full_queue_of_connections_ends_with_the_deadline() -> None:
    """A listener that accepts nobody: the connection is never made."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        target = listener.getsockname()[1]
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", target))
            waiting.append(one)
        begun = time.monotonic()
        with pytest.raises(TimedOut):
            ask(f"127.0.0.1:{target}")
        assert timed(begun) < SHORT + LATE
        for one in waiting:
            one.close()


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises((Unreachable, TimedOut), match=r"resolving log\.invalid"):
        ask("log.invalid:32001", 10)


def test_a_resolver_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> list[object]:
        time.sleep(6)
        return []

    monkeypatch.setattr(addresses.socket, "getaddrinfo", hang)
    begun = time.monotonic()
    with pytest.raises(TimedOut, match="resolving"):
        ask("somewhere:32001")
    assert timed(begun) < SHORT + LATE


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":1", "host:0", "host:65536", "host:-1", "a:b"]
)
def test_texts_that_are_no_address(text: str) -> None:
    with pytest.raises(Unreachable, match="no address"):
        LogStore(text)


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [
        ("log-0.log.ns.svc:32001", "log-0.log.ns.svc", 32001, "log-0.log.ns.svc:32001"),
        ("tcp://10.0.0.1:1", "10.0.0.1", 1, "10.0.0.1:1"),
        ("[fd00::1]:6002", "fd00::1", 6002, "[fd00::1]:6002"),
        ("fd00::1:6002", "fd00::1", 6002, "[fd00::1]:6002"),
    ],
)
def test_addresses(text: str, host: str, port: int, shown: str) -> None:
    address = addresses.Address.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, shown)


def test_a_closed_connection_is_opened_again() -> None:
    with (
        scripted.serving(scripted.hanging_up, scripted.replying(yes)) as address,
        LogStore(address, Reach.MACHINE) as store,
    ):
        with pytest.raises(Unreachable):
            store.hosts_hakeeper(Deadline.after(5))
        assert store.hosts_hakeeper(Deadline.after(5)) is True


def test_a_deadline_that_has_passed_sends_nothing() -> None:
    with scripted.serving(scripted.replying(yes)) as address, pytest.raises(TimedOut):
        ask(address, -1)


def test_hakeeper_leaves_a_store_that_is_silent_half_open_or_mad() -> None:
    """Three bad stores before the good one, none of which may use up the time of all."""
    with (
        scripted.serving(scripted.silent) as half_open,
        scripted.serving(scripted.replying(lambda _: bytes(64))) as mad,
        scripted.serving(scripted.hanging_up) as gone,
        scripted.serving(scripted.replying(yes_and_details)) as good,
        HAKeeper(addresses=[half_open, mad, gone, good], reach=Reach.MACHINE) as hakeeper,
    ):
        begun = time.monotonic()
        assert hakeeper.cluster_details(Deadline.after(15)).cn_stores == ()
        assert timed(begun) < 4


def yes_and_details(asked: scripted.protobuf.Values) -> bytes:
    return scripted.fitting(asked, IsHAKeeper=True, ClusterDetails={})


def test_hakeeper_without_a_good_store_ends_with_the_deadline_and_says_what_was_wrong() -> None:
    with (
        scripted.serving(scripted.silent) as half_open,
        scripted.serving(scripted.hanging_up) as gone,
        HAKeeper(discovery=[gone], addresses=[half_open], reach=Reach.MACHINE) as hakeeper,
    ):
        begun = time.monotonic()
        with pytest.raises(TimedOut, match="CHECK_HAKEEPER"):
            hakeeper.cluster_details(Deadline.after(3))
        assert timed(begun) < 4


def test_an_answer_without_its_result_is_malformed() -> None:
    def nothing(asked: scripted.protobuf.Values) -> bytes:
        return scripted.fitting(asked, IsHAKeeper=True)

    with (
        scripted.serving(scripted.replying(nothing)) as address,
        HAKeeper(addresses=[address], reach=Reach.MACHINE) as hakeeper,
        pytest.raises(MalformedAnswer, match="has no ClusterDetails"),
    ):
        hakeeper.cluster_details(Deadline.after(2))


def test_a_leader_that_is_no_member_is_no_leader() -> None:
    def odd(asked: scripted.protobuf.Values) -> bytes:
        return scripted.fitting(asked, ShardInfo={"LeaderID": 5, "Replicas": {1: {"UUID": "a"}}})

    with (
        scripted.serving(scripted.replying(odd)) as address,
        LogStore(address, Reach.MACHINE) as store,
        pytest.raises(NotLeader, match="nobody leads shard 0"),
    ):
        store.shard_info(0, Deadline.after(5))


def test_a_service_that_is_not_what_it_should_be() -> None:
    """The query client at a log store's port: an error, not a count."""
    with (
        scripted.serving(scripted.replying(yes)) as address,
        QueryService(address, Reach.MACHINE) as query,
        pytest.raises(MatrixOneError),
    ):
        query.pipelines(Deadline.after(1))
