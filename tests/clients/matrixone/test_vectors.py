# SPDX-License-Identifier: Apache-2.0
"""Every recorded frame is understood and, where its bytes are fixed, made again.

``vectors.json`` holds frames of the database's own codec, a recorded dialogue, and a few written by
hand for newer releases; ``fields`` is what a frame says, as proto3 JSON.
"""

import base64
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.digests import xxh64
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    decoding,
    framing,
    protobuf,
    tables,
)

Flag, Kind = framing.Flag, protobuf.Kind
VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors.json").read_text(encoding="utf-8")
)
FRAMES = [vector for vector in VECTORS if vector["frame"]]
MESSAGES = [vector for vector in VECTORS if vector["message"] != "none"]
TABLES = {
    table.name: table
    for table in (
        tables.logservice.REQUEST,
        tables.logservice.RESPONSE,
        tables.logservice.BACKUP_DATA,
        tables.services.LOCK_REQUEST,
        tables.services.LOCK_RESPONSE,
        tables.services.QUERY_REQUEST,
        tables.services.QUERY_RESPONSE,
    )
}


def name_of(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def content_of(vector: dict[str, Any]) -> bytes:
    """A frame without its length."""
    return bytes.fromhex(vector["hex"])[4:]


def body_of(vector: dict[str, Any]) -> bytes:
    if not vector["frame"]:
        return bytes.fromhex(vector["body_hex"])
    return framing.decode_frame(content_of(vector)).body


def timestamp(value: dict[str, int]) -> str:
    whole = value.get("seconds", 0)
    if whole == -62135596800:
        return "0001-01-01T00:00:00Z"
    text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{value['nanos'] // 1_000_000:03d}" if value.get("nanos") else ""
    return f"{text}{fraction}Z"


def one_as_json(field: protobuf.Field, value: Any) -> Any:
    if field.message is tables.logservice.TIMESTAMP:
        return timestamp(value)
    if field.message is not None:
        return as_json(field.message, value)
    if field.kind in (Kind.UINT64, Kind.INT64):
        return str(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def as_json(message: protobuf.Message, values: dict[str, Any]) -> dict[str, Any]:
    """What was decoded as proto3 JSON, without opaque parts."""
    out: dict[str, Any] = {}
    for name, value in values.items():
        field = message.by_name[name]
        if field.kind is Kind.OPAQUE:
            continue
        if field.key is not None:
            out[name] = {str(key): one_as_json(field, item) for key, item in value.items()}
        elif field.repeated:
            out[name] = [one_as_json(field, item) for item in value]
        else:
            out[name] = one_as_json(field, value)
    return out


def without_opaque(message: protobuf.Message, fields: dict[str, Any]) -> dict[str, Any]:
    """What a vector says, without what our tables do not look into."""
    out: dict[str, Any] = {}
    for name, value in fields.items():
        field = message.by_name.get(name)
        if field is None or field.kind is Kind.OPAQUE:
            continue
        inner = field.message
        if inner is None or inner is tables.logservice.TIMESTAMP:
            out[name] = value
        elif field.key is not None:
            out[name] = {key: without_opaque(inner, item) for key, item in value.items()}
        elif field.repeated:
            out[name] = [without_opaque(inner, item) for item in value]
        else:
            out[name] = without_opaque(inner, value)
    return out


@pytest.mark.parametrize("vector", FRAMES, ids=name_of)
def test_frame_is_decoded(vector: dict[str, Any]) -> None:
    wanted, frame = vector["frame"], framing.decode_frame(content_of(vector))
    assert len(content_of(vector)) == wanted["length"]
    assert frame.flags == wanted["flags"]
    assert frame.timeout == wanted["timeout_ns"]
    assert frame.trace.hex() == wanted["trace_hex"]
    assert frame.sequence == (wanted.get("stream_sequence") or 0)
    assert frame.payload.hex() == (wanted.get("payload_hex") or "")
    assert len(frame.payload) == (wanted.get("payload_length") or 0)
    assert f"{xxh64(bytes.fromhex(vector['body_hex'])):016x}" == wanted["checksum_hex"]
    assert frame.compressed == (Flag.COMPRESS in frame.flags)
    if not frame.compressed:
        assert frame.body.hex() == vector["body_hex"]


@pytest.mark.parametrize(
    "vector", [one for one in FRAMES if not one["frame"]["flags"] & Flag.COMPRESS], ids=name_of
)
def test_frame_is_made_again(vector: dict[str, Any]) -> None:
    assert framing.encode_frame(framing.decode_frame(content_of(vector))).hex() == vector["hex"]


@pytest.mark.parametrize("vector", MESSAGES, ids=name_of)
def test_message_is_decoded(vector: dict[str, Any]) -> None:
    table = TABLES[vector["message"]]
    decoded = as_json(table, decoding.decode(table, body_of(vector)))
    assert decoded == without_opaque(table, vector["fields"])


@pytest.mark.parametrize("vector", [one for one in MESSAGES if one["byte_exact"]], ids=name_of)
def test_message_is_made_again(vector: dict[str, Any]) -> None:
    table = TABLES[vector["message"]]
    decoded = decoding.decode(table, body_of(vector))
    assert protobuf.encode(table, decoded).hex() == vector["body_hex"]


@pytest.mark.parametrize(
    "vector",
    [one for one in MESSAGES if not one["byte_exact"] and "future" not in one["name"]],
    ids=name_of,
)
def test_message_without_fixed_order_is_made_again_with_the_same_content(
    vector: dict[str, Any],
) -> None:
    table = TABLES[vector["message"]]
    decoded = decoding.decode(table, body_of(vector))
    again = protobuf.encode(table, decoded)
    assert sorted(again) == sorted(body_of(vector))
    assert decoding.decode(table, again) == decoded


@pytest.mark.parametrize("seed", range(20))
def test_frames_arrive_whole_however_they_are_cut(seed: int) -> None:
    stream = b"".join(bytes.fromhex(vector["hex"]) for vector in FRAMES)
    chance = random.Random(seed)  # noqa: S311
    buffer, frames, offset = framing.FrameBuffer(), [], 0
    while offset < len(stream):
        step = chance.choice((1, 2, 3, 7, 100, 5000))
        frames += buffer.feed(stream[offset : offset + step])
        offset += step
    assert frames == [framing.decode_frame(content_of(vector)) for vector in FRAMES]


def test_every_vector_is_looked_at() -> None:
    assert len(VECTORS) == 75
    assert len(FRAMES) + 1 == len(VECTORS)
    assert {vector["message"] for vector in MESSAGES} == TABLES.keys()
