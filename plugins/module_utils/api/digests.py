# SPDX-License-Identifier: Apache-2.0
"""Digests and identities derived from names.

Start scripts and other controllers compute the same values from the same texts, so each function
here is pinned by test vectors.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Final

_MASK: Final = (1 << 64) - 1
_PRIME_1: Final = 0x9E3779B185EBCA87
_PRIME_2: Final = 0xC2B2AE3D27D4EB4F
_PRIME_3: Final = 0x165667B19E3779F9
_PRIME_4: Final = 0x85EBCA77C2B2AE63
_PRIME_5: Final = 0x27D4EB2F165667C5
_STRIPE: Final = 32
_DIGEST_LENGTH: Final = 7
_TN_ORDINAL_DIGITS: Final = 11


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _round(accumulator: int, lane: int) -> int:
    mixed = (accumulator + lane * _PRIME_2) & _MASK
    return (_rotate(mixed, 31) * _PRIME_1) & _MASK


def _stripes(data: bytes) -> int:
    """Fold all whole 32-byte stripes into one accumulator (seed 0).

    The four lanes are written out: answers of a database have hundreds of kilobytes. Bits above
    the 64th that a rotation leaves vanish with the multiplication's mask.
    """
    one, two, three, four = (_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK
    whole = memoryview(data)[: len(data) - len(data) % _STRIPE]
    for a, b, c, d in struct.iter_unpack("<4Q", whole):
        one = (one + a * _PRIME_2) & _MASK
        one = ((one << 31 | one >> 33) * _PRIME_1) & _MASK
        two = (two + b * _PRIME_2) & _MASK
        two = ((two << 31 | two >> 33) * _PRIME_1) & _MASK
        three = (three + c * _PRIME_2) & _MASK
        three = ((three << 31 | three >> 33) * _PRIME_1) & _MASK
        four = (four + d * _PRIME_2) & _MASK
        four = ((four << 31 | four >> 33) * _PRIME_1) & _MASK
    lanes = (one, two, three, four)
    folded = sum(map(_rotate, lanes, (1, 7, 12, 18))) & _MASK
    for lane in lanes:
        folded = ((folded ^ _round(0, lane)) * _PRIME_1 + _PRIME_4) & _MASK
    return folded


def _tail(folded: int, rest: bytes) -> int:
    """Fold what is left after the whole stripes: eight, then four, then single bytes."""
    offset = 0
    while offset + 8 <= len(rest):
        lane = int.from_bytes(rest[offset : offset + 8], "little")
        folded = (_rotate(folded ^ _round(0, lane), 27) * _PRIME_1 + _PRIME_4) & _MASK
        offset += 8
    if offset + 4 <= len(rest):
        lane = int.from_bytes(rest[offset : offset + 4], "little")
        folded = (_rotate(folded ^ (lane * _PRIME_1 & _MASK), 23) * _PRIME_2 + _PRIME_3) & _MASK
        offset += 4
    for byte in rest[offset:]:
        folded = (_rotate(folded ^ (byte * _PRIME_5 & _MASK), 11) * _PRIME_1) & _MASK
    return folded


def xxh64(data: bytes) -> int:
    """Return the 64-bit xxHash (XXH64, seed 0) of the data as an unsigned integer."""
    folded = _stripes(data) if len(data) >= _STRIPE else _PRIME_5
    folded = _tail((folded + len(data)) & _MASK, data[len(data) - len(data) % _STRIPE :])
    folded = ((folded ^ (folded >> 33)) * _PRIME_2) & _MASK
    folded = ((folded ^ (folded >> 29)) * _PRIME_3) & _MASK
    return folded ^ (folded >> 32)


def digest7(text: str) -> str:
    """Return seven characters that stand for a text: the head of its unpadded hexadecimal XXH64."""
    return f"{xxh64(text.encode()):x}"[:_DIGEST_LENGTH]


def compact_json(data: Mapping[str, object]) -> str:
    """Return sorted, compact JSON in which ``<``, ``>``, ``&`` and line separators are escaped."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def config_suffix(data: Mapping[str, str]) -> str:
    """Return the digest of a ConfigMap's data that goes into its name."""
    return digest7(compact_json(data))


def deployment_id(log_set: str) -> int:
    """Return the number by which log stores of one cluster recognise each other."""
    return xxh64(log_set.encode()) >> 1


def hash_uuid(address: str) -> str:
    """Return the UUID that a store without an ordinal derives from its address."""
    digest = hashlib.sha256(f"{address}\n".encode()).hexdigest()[:16]
    words = [
        f"{ord(digest[index + 1]):02x}{ord(digest[index]):02x}"
        for index in range(0, len(digest), 2)
    ]
    return f"{words[0]}{words[1]}-{words[2]}-{words[3]}-{words[4]}-{words[5]}{words[6]}{words[7]}"


def log_uuid(ordinal: int, incarnation: int = 0) -> str:
    """Return the UUID of a log store.

    Args:
        ordinal: the ordinal of its Pod.
        incarnation: how often the store of this ordinal was replaced by a new, empty one. It is
            the last of the three short groups; 0 gives the UUID that the ordinal always had.
    """
    return f"00000000-0000-0000-{incarnation:04x}-{ordinal:012x}"


def tn_uuid(ordinal: int) -> str:
    """Return the UUID of the transaction node with this ordinal."""
    return f"00000000-0000-0000-0000-1{ordinal:0{_TN_ORDINAL_DIGITS}x}"
