# SPDX-License-Identifier: Apache-2.0
"""Bytes as a broken network, or somebody who means harm, leaves them."""

from __future__ import annotations

import random
from typing import Final

EXTREMES: Final = (
    0, 1, 0x7F, 0x80, 0xFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1,
    253_402_300_799, 2**64 - 62_135_596_799,
)  # fmt: skip
"""Numbers at the bounds of the types that peers send, and of calendars."""
TEXTS: Final = (
    b"",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\x00" * 9,
    b"NaN",
    b"-1",
    b"1e999",
    b"9" * 5000,
    b"{{ 1 }}",
    b"\x1b[2J\r\n",
    "\u202e\u2028\U0001f40d".encode(),
    b"x" * 70_000,
)
"""Texts that are none, that are no numbers, or that are large."""
_MOST_CHANGES: Final = 3


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with at least one of them changed, missing, or more than there was."""
    result = data
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        result = _changed(result, rng)
    return result if result != data else data[:-1]


def _changed(data: bytes, rng: random.Random) -> bytes:
    begin = rng.randrange(len(data) + 1)
    end = min(len(data), begin + rng.choice((1, 1, 2, 4, 8, 40)))
    size = end - begin
    piece = rng.choice(
        (
            bytes(one ^ 1 << rng.randrange(8) for one in data[begin:end]),
            b"\x00" * size,
            b"\xff" * size,
            rng.randbytes(size),
            b"",
            data[begin:end] * 2,
            rng.choice(EXTREMES).to_bytes(8, rng.choice(("big", "little"))),
        )
    )
    return data[:begin] + piece + data[end:]
