# SPDX-License-Identifier: Apache-2.0
"""MatrixOne's blocks: both ways, and what is no block."""

import struct
from itertools import accumulate, pairwise

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import blocks
from hypothesis import given
from hypothesis import strategies as st

_CONTENTS = st.one_of(
    st.binary(max_size=64),
    st.integers(0, 3 * blocks.CONTENT + 5).map(lambda size: bytes(range(251)) * (size // 251 + 1))
    .flatmap(lambda long: st.integers(0, len(long)).map(lambda end: long[:end])),
)  # fmt: skip


def stored(content: bytes) -> bytes:
    return b"".join(blocks.encode([content]))


@given(_CONTENTS)
def test_decoding_undoes_encoding(content: bytes) -> None:
    assert blocks.decode(stored(content)) == content


@given(_CONTENTS)
def test_sizes_follow_from_one_another(content: bytes) -> None:
    size = len(stored(content))
    assert blocks.stored_size(len(content)) == size
    assert blocks.content_size(size) == len(content)


@given(_CONTENTS, st.lists(st.integers(0, 5000), max_size=4))
def test_pieces_do_not_matter(content: bytes, lengths: list[int]) -> None:
    ends = [0, *accumulate(lengths), len(content)]
    pieces = [content[a:b] for a, b in pairwise(ends)]
    whole = b"".join(pieces)
    assert b"".join(blocks.encode(pieces)) == stored(whole)


def test_large_contents_come_in_more_than_one_piece() -> None:
    content = bytes(3 << 20)
    pieces = list(blocks.encode([content]))
    assert len(pieces) > 1
    assert all(len(piece) % blocks.BLOCK == 0 for piece in pieces[:-1])
    assert b"".join(map(blocks.decode, pieces)) == content


@given(_CONTENTS.filter(bool), st.data())
def test_one_changed_bit_is_found(content: bytes, data: st.DataObject) -> None:
    changed = bytearray(stored(content))
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(blocks.CorruptBlock):
        blocks.decode(bytes(changed))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 2049, 2052])
def test_a_file_that_ends_within_a_checksum(size: int) -> None:
    with pytest.raises(blocks.CorruptBlock):
        blocks.decode(stored(bytes(2044))[:size].ljust(size, b"\0"))


def test_the_bytes_are_those_of_the_database() -> None:
    """CRC-32C of the nine digits is the check value of its definition (RFC 3720, B.4)."""
    assert stored(b"123456789") == struct.pack("<I", 0xE3069283) + b"123456789"
