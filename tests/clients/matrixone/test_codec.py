# SPDX-License-Identifier: Apache-2.0
"""What goes through the codec comes out again; what is no message is an error, never a hang."""

import json
import math
import string
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    BadRequest,
    MalformedAnswer,
    decoding,
    framing,
    lz4,
    protobuf,
    tables,
)
from hypothesis import given
from hypothesis import strategies as st

Flag, Frame, Kind = framing.Flag, framing.Frame, protobuf.Kind
VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text())
MESSAGES = (
    tables.logservice.REQUEST,
    tables.logservice.RESPONSE,
    tables.logservice.CONFIG_DATA,
    tables.services.LOCK_REQUEST,
    tables.services.LOCK_RESPONSE,
    tables.services.QUERY_REQUEST,
    tables.services.QUERY_RESPONSE,
    tables.services.ERROR,
)
SCALARS: dict[protobuf.Kind, st.SearchStrategy[Any]] = {
    Kind.UINT64: st.integers(0, (1 << 64) - 1),
    Kind.UINT32: st.integers(0, (1 << 32) - 1),
    Kind.INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    Kind.INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    Kind.ENUM: st.integers(0, (1 << 31) - 1),
    Kind.BOOL: st.booleans(),
    Kind.DOUBLE: st.floats(allow_nan=False),
    Kind.STRING: st.text(max_size=12),
    Kind.BYTES: st.binary(max_size=12),
    Kind.OPAQUE: st.binary(max_size=12),
}


def value_of(field: protobuf.Field) -> st.SearchStrategy[Any]:
    one = messages(field.message) if field.message else SCALARS[field.kind]
    if field.key is not None:
        return st.dictionaries(SCALARS[field.key], one, min_size=1, max_size=3)
    return st.lists(one, min_size=1, max_size=3) if field.repeated else one


def messages(message: protobuf.Message) -> st.SearchStrategy[dict[str, Any]]:
    """Any values that fit a table."""
    optional = {field.name: value_of(field) for field in message.fields}
    return st.fixed_dictionaries({}, optional=optional)


def without_defaults(message: protobuf.Message, values: dict[str, Any]) -> dict[str, Any]:
    """What is left on the wire: a number, text or flag that is zero or empty is not sent."""
    out = {}
    for name, value in values.items():
        field = message.by_name[name]
        if field.message is not None and field.key is not None:
            out[name] = {k: without_defaults(field.message, one) for k, one in value.items()}
        elif field.message is not None and field.repeated:
            out[name] = [without_defaults(field.message, one) for one in value]
        elif field.message is not None:
            out[name] = without_defaults(field.message, value)
        elif value or field.kind is Kind.OPAQUE:
            out[name] = value
    return out


ANY = st.sampled_from(MESSAGES).flatmap(lambda one: st.tuples(st.just(one), messages(one)))


@given(ANY)
def test_values_survive_the_wire(example: tuple[protobuf.Message, dict[str, Any]]) -> None:
    message, values = example
    encoded = protobuf.encode(message, values)
    decoded = decoding.decode(message, encoded)
    assert decoded == without_defaults(message, values)
    assert protobuf.encode(message, decoded) == encoded


@given(ANY, st.data())
def test_cut_messages_are_understood_in_part_or_refused(
    example: tuple[protobuf.Message, dict[str, Any]], data: st.DataObject
) -> None:
    message, values = example
    encoded = protobuf.encode(message, values)
    cut = encoded[: data.draw(st.integers(0, len(encoded)))]
    try:
        decoded = decoding.decode(message, cut)
    except MalformedAnswer:
        return
    assert decoded.keys() <= values.keys()


@given(st.sampled_from(MESSAGES), st.binary(max_size=200))
def test_noise_is_a_message_or_an_error(message: protobuf.Message, noise: bytes) -> None:
    try:
        decoding.decode(message, noise)
    except MalformedAnswer as error:
        assert str(error)  # noqa: PT017


@given(ANY, st.integers(500, 1 << 28), st.sampled_from([0, 1, 2, 5]), st.integers(0, 99))
def test_unknown_fields_are_skipped(
    example: tuple[protobuf.Message, dict[str, Any]], number: int, wire_type: int, size: int
) -> None:
    message, values = example
    body = {0: b"\x07", 1: bytes(8), 2: bytes([size]) + bytes(size), 5: bytes(4)}[wire_type]
    tag, extra = number << 3 | wire_type, bytearray()
    while tag > 0x7F:
        extra.append(tag & 0x7F | 0x80)
        tag >>= 7
    extra.append(tag)
    encoded = protobuf.encode(message, values)
    assert decoding.decode(message, encoded + extra + body) == decoding.decode(message, encoded)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x08", "no end"),
        (b"\x08" + b"\xff" * 11, "no end"),
        (b"\x00\x01", "no field 0"),
        (b"\x0b", "no wire type 3"),
        (b"\x0f", "no wire type 7"),
        (b"\x22\x05abc", "longer than its message"),
        (b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a", "longer than its message"),
        (b"\x22\x02\xff\xfe", "ErrorMessage is no text"),
        (b"\x0a\x01a", "RequestID has wire type 2"),
        (b"\x48\x01", "ClusterDetails has wire type 0"),
        (b"\x4a\x02\x12\x05", "longer than its message"),
    ],
)
def test_malformed_messages_say_why(data: bytes, why: str) -> None:
    with pytest.raises(MalformedAnswer, match=why):
        decoding.decode(tables.logservice.RESPONSE, data)


def test_pieces_of_a_sub_message_add_up() -> None:
    whole = {"ShardInfo": {"LeaderID": 3, "Replicas": {1: {"UUID": "a"}}}}
    more = {"ShardInfo": {"Term": 2, "Replicas": {2: {"UUID": "b"}}}}
    table = tables.logservice.RESPONSE
    merged = decoding.decode(table, protobuf.encode(table, whole) + protobuf.encode(table, more))
    assert merged == {
        "ShardInfo": {"LeaderID": 3, "Term": 2, "Replicas": {1: {"UUID": "a"}, 2: {"UUID": "b"}}}
    }


@pytest.mark.parametrize(
    "values",
    [
        {"Nonsense": 1},
        {"RequestID": -1},
        {"RequestID": 1 << 64},
        {"RequestID": "1"},
        {"Method": 1 << 31},
        {"CNWorkState": {"UUID": 5}},
        {"CNWorkState": {"UUID": b"x"}},
        {"CNWorkState": "x"},
        {"CNStoreLabel": {"Labels": {"a": {"Labels": [1]}}}},
        {"CNStoreLabel": {"Labels": {1: {"Labels": ["a"]}}}},
    ],
)
def test_what_does_not_fit_is_not_sent(values: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        protobuf.encode(tables.logservice.REQUEST, values)


FRAMES = st.builds(
    Frame,
    flags=st.sampled_from([Flag(7), Flag(6), Flag(0x16), Flag(4), Flag(5)]),
    body=st.binary(max_size=300),
    timeout=st.integers(1, (1 << 63) - 1),
    trace=st.binary(max_size=255),
)


@given(FRAMES, st.data())
def test_frames_survive_the_wire(frame: framing.Frame, data: st.DataObject) -> None:
    stream = framing.encode_frame(frame)
    cut = data.draw(st.integers(0, len(stream)))
    buffer = framing.FrameBuffer()
    assert buffer.feed(stream[:cut]) + buffer.feed(stream[cut:]) == [frame]


@given(st.binary(max_size=200))
def test_noise_is_a_frame_or_an_error(noise: bytes) -> None:
    try:
        framing.decode_frame(noise)
        framing.FrameBuffer().feed(noise)
    except MalformedAnswer as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "vector", [one for one in VECTORS if one["frame"]], ids=lambda v: v["name"]
)
def test_a_changed_bit_is_noticed(vector: dict[str, Any]) -> None:
    """The checksum covers body and payload: every bit of them counts."""
    content = bytes.fromhex(vector["hex"])[4:]
    body = len(bytes.fromhex(vector["body_hex"]))
    for offset in range(len(content) - body, len(content)):
        broken = bytearray(content)
        broken[offset] ^= 1 << offset % 8
        with pytest.raises(MalformedAnswer, match="checksum"):
            framing.decode_frame(bytes(broken))


@pytest.mark.parametrize(
    "vector", [one for one in VECTORS if one["frame"]], ids=lambda v: v["name"]
)
def test_cut_frames_are_refused(vector: dict[str, Any]) -> None:
    content = bytes.fromhex(vector["hex"])[4:]
    for length in range(len(content) - 1):
        with pytest.raises(MalformedAnswer):
            framing.decode_frame(content[:length])


@pytest.mark.parametrize("length", [0, -1, -(1 << 31), framing.LARGEST_FRAME + 1, (1 << 31) - 1])
def test_impossible_lengths_are_refused_at_once(length: int) -> None:
    with pytest.raises(MalformedAnswer, match="cannot have"):
        framing.FrameBuffer().feed(length.to_bytes(4, "big", signed=True))


@pytest.mark.parametrize(
    "frame",
    [
        Frame(Flag(3), b"body", timeout=1),
        Frame(Flag(7), b"body", timeout=0),
        Frame(Flag(7), b"body", timeout=-1),
        Frame(Flag(15), b"body", timeout=1),
        Frame(Flag(7), bytes(framing.LARGEST_BODY), timeout=1),
    ],
    ids=["no header", "no time", "elapsed", "compressed", "too large"],
)
def test_frames_that_kill_a_server_are_not_made(frame: framing.Frame) -> None:
    with pytest.raises(BadRequest):
        framing.encode_frame(frame)


def packed(text: bytes) -> bytes:
    """An LZ4 block of literals only."""
    length = len(text)
    if length < 15:
        return bytes([length << 4]) + text
    rest = length - 15
    return bytes([0xF0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + text


@given(st.binary(max_size=2000))
def test_literals_are_unpacked(text: bytes) -> None:
    assert lz4.unpack(packed(text), 4000) == text


@given(st.binary(min_size=1, max_size=20), st.integers(1, 20), st.integers(4, 5000))
def test_matches_are_unpacked_though_they_overlap(text: bytes, back: int, length: int) -> None:
    distance = min(back, len(text))
    more, match = length - 4, bytearray()
    if more >= 15:
        match += b"\xff" * ((more - 15) // 255) + bytes([(more - 15) % 255])
    literals = bytearray(packed(text))
    literals[0] |= min(more, 15)
    block = bytes(literals) + distance.to_bytes(2, "little") + bytes(match) + b"\x10!"
    expected = bytearray(text)
    for _ in range(length):
        expected.append(expected[-distance])
    assert lz4.unpack(block, 10000) == bytes(expected) + b"!"


@given(st.binary(max_size=300))
def test_noise_is_unpacked_or_refused(noise: bytes) -> None:
    try:
        assert len(lz4.unpack(noise, 1000)) <= 1000
    except MalformedAnswer as error:
        assert str(error)  # noqa: PT017


def test_a_bomb_is_refused() -> None:
    bomb = b"\x1fa\x01\x00" + b"\xff" * 5000 + b"\x00" + b"\x10!"
    with pytest.raises(MalformedAnswer, match="larger"):
        lz4.unpack(bomb, 100_000)


@given(st.floats())
def test_floats_of_all_kinds_survive(value: float) -> None:
    table = tables.logservice.RESOURCE
    decoded = decoding.decode(table, protobuf.encode(table, {"CPUAvailable": value}))
    again = decoded.get("CPUAvailable", 0.0)
    assert again == value or (math.isnan(again) and math.isnan(value))


@given(st.dictionaries(st.sampled_from(string.ascii_letters), st.lists(st.text()), max_size=5))
def test_labels_survive(labels: dict[str, list[str]]) -> None:
    table = tables.logservice.CN_STORE_LABEL
    values = {"UUID": "u", "Labels": {key: {"Labels": one} for key, one in labels.items() if one}}
    expected = values if values["Labels"] else {"UUID": "u"}
    assert decoding.decode(table, protobuf.encode(table, values)) == expected
