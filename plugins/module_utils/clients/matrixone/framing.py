# SPDX-License-Identifier: Apache-2.0
"""Frames of MatrixOne's RPC: encode what is sent, decode what comes.

Requests always carry checksum and deadline: a server that gets a frame without its deadline dies.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from ...api.digests import xxh64
from .deadlines import Deadline
from .errors import BadRequest, MalformedAnswer
from .lz4 import unpack

LARGEST_BODY: Final = 4 << 20
"""Bytes of body and payload together, as they come and unpacked. The database accepts 100 MiB, for
rows; the answers to control calls read here have kilobytes, for 1,000 compute nodes one or two
MiB."""
LARGEST_FRAME: Final = LARGEST_BODY + (64 << 10)
"""The same with the other parts, and what packing adds to bytes that cannot be packed."""
_NO_TRACE: Final = bytes(24)
_PREFIX: Final = 4


class Flag(IntFlag):
    """What a frame has, beside its length and flags."""

    PAYLOAD = 0x01
    CHECKSUM = 0x02
    HEADER = 0x04
    COMPRESS = 0x08
    STREAM = 0x10
    PING = 0x20
    PONG = 0x40


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame.

    Attributes:
        flags: which of the other parts are there.
        body: message, as it is after unpacking.
        payload: opaque bytes beside the message.
        timeout: nanoseconds the sender is still willing to wait.
        trace: trace and span id, 24 bytes.
        sequence: number within a stream.
        compressed: whether body and payload came packed.
    """

    flags: Flag
    body: bytes
    payload: bytes = b""
    timeout: int = 0
    trace: bytes = _NO_TRACE
    sequence: int = 0
    compressed: bool = False


def encode_frame(frame: Frame) -> bytes:
    """Return the bytes of a frame, length first.

    Raises:
        BadRequest: a server would close the connection or die of it.
    """
    if Flag.COMPRESS in frame.flags or Flag.HEADER not in frame.flags or frame.timeout <= 0:
        raise BadRequest("a frame needs a deadline and is never compressed")
    if len(frame.body) + len(frame.payload) >= LARGEST_BODY:
        raise BadRequest(f"a frame of {len(frame.body)} bytes is too large")
    parts = [bytes([frame.flags])]
    if Flag.CHECKSUM in frame.flags:
        parts.append(struct.pack(">Q", xxh64(frame.body + frame.payload)))
    if Flag.PAYLOAD in frame.flags:
        parts.append(struct.pack(">i", len(frame.payload)))
    parts.append(struct.pack(">qB", frame.timeout, len(frame.trace)) + frame.trace)
    if Flag.STREAM in frame.flags:
        parts.append(struct.pack(">I", frame.sequence))
    content = b"".join((*parts, frame.body, frame.payload))
    return struct.pack(">i", len(content)) + content


class _Parts:
    """Takes the parts of a frame in their order."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.offset = 0

    def take(self, length: int) -> bytes:
        end = self.offset + length
        if length < 0 or end > len(self.content):
            raise MalformedAnswer("a frame is too short for its parts")
        taken = self.content[self.offset : end]
        self.offset = end
        return taken

    def number(self, length: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(length), "big", signed=signed)

    def rest(self) -> int:
        return len(self.content) - self.offset


def decode_frame(content: bytes, deadline: Deadline | None = None) -> Frame:
    """Return the frame that follows a length prefix.

    Raises:
        MalformedAnswer: parts are missing, the checksum is wrong, a block cannot be unpacked, or
            body and payload are larger than `LARGEST_BODY`.
        TimedOut: the deadline passed while unpacking.
    """
    parts = _Parts(content)
    flags = Flag(parts.number(1) & 0x7F)
    checksum = parts.number(8) if Flag.CHECKSUM in flags else None
    payload_length = parts.number(4, signed=True) if Flag.PAYLOAD in flags else 0
    timeout, trace = 0, b""
    if Flag.HEADER in flags:
        timeout = parts.number(8, signed=True)
        trace = parts.take(parts.number(1))
    sequence = parts.number(4) if Flag.STREAM in flags else 0
    body = parts.take(parts.rest() - payload_length)
    payload = parts.take(payload_length)
    if checksum is not None and xxh64(body + payload) != checksum:
        raise MalformedAnswer("the checksum of an answer is wrong")
    packed = Flag.COMPRESS in flags
    if packed:
        body = unpack(body, LARGEST_BODY, deadline)
        payload = unpack(payload, LARGEST_BODY - len(body), deadline) if payload else b""
    if len(body) + len(payload) > LARGEST_BODY:
        raise MalformedAnswer(f"an answer has more than {LARGEST_BODY} bytes")
    return Frame(flags, body, payload, timeout, trace, sequence, packed)


class FrameBuffer:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes, deadline: Deadline | None = None) -> list[Frame]:
        """Add what came and return the frames that are complete with it.

        Raises:
            MalformedAnswer: what came is no frame, or one that is too large; the connection is of
                no more use.
            TimedOut: the deadline passed while unpacking.
        """
        frames: list[Frame] = []
        self._pending += data
        while len(self._pending) >= _PREFIX:
            length = int.from_bytes(self._pending[:_PREFIX], "big", signed=True)
            if not 0 < length <= LARGEST_FRAME:
                raise MalformedAnswer(
                    f"a frame cannot have {length} bytes; at most {LARGEST_FRAME} are accepted"
                )
            if len(self._pending) < _PREFIX + length:
                break
            content = bytes(self._pending[_PREFIX : _PREFIX + length])
            del self._pending[: _PREFIX + length]
            frames.append(decode_frame(content, deadline))
        return frames
