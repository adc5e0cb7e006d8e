# SPDX-License-Identifier: Apache-2.0
"""An object that is written in parts has the content of its pieces, whatever their sizes."""

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import s3
from hypothesis import given
from hypothesis import strategies as st


@given(pieces=st.lists(st.binary(max_size=20), max_size=10), size=st.integers(1, 30))
def test_parts_have_the_content_of_the_pieces_and_one_size(pieces: list[bytes], size: int) -> None:
    parts = list(s3._parts(pieces, size))
    assert b"".join(parts) == b"".join(pieces)
    assert all(len(part) == size for part in parts[:-1])
    assert all(0 < len(part) <= size for part in parts)
