# SPDX-License-Identifier: Apache-2.0
"""The lists of a backup."""

import csv
import io

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import listings
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.listings import (
    DataFile,
)
from hypothesis import given
from hypothesis import strategies as st

SHA = "ab" * 32
OTHER = "cd" * 32


def test_a_list() -> None:
    text = f"obj_00000,4096,{SHA},true,17-1\nckp/meta_0-0,70,,true,17-1\nold_00000,9,,false,1-0\n"
    assert listings.data_files(text.encode()) == [
        DataFile("obj_00000", 4096, SHA, here=True),
        DataFile("ckp/meta_0-0", 70, None, here=True),
        DataFile("old_00000", 9, None, here=False),
    ]


def test_of_two_lines_the_one_with_a_checksum_counts() -> None:
    for lines in (
        (f"a,1,{SHA},true,1-0", "a,2,,true,1-0"),
        ("a,2,,true,1-0", f"a,1,{SHA},true,1-0"),
    ):
        assert listings.data_files("\n".join(lines).encode()) == [DataFile("a", 1, SHA, here=True)]


@pytest.mark.parametrize(
    "line",
    [
        "a,1",
        f"a,-1,{SHA},true,1-0",
        f"a,x,{SHA},true,1-0",
        "a,1,abc,true,1-0",
        f"a,1,{SHA},yes,1-0",
        f"../a,1,{SHA},true,1-0",
        f"/a,1,{SHA},true,1-0",
        f"a//b,1,{SHA},true,1-0",
        f",1,{SHA},true,1-0",
        f'"a,1,{SHA},true,1-0',
    ],
)
def test_lines_that_are_none(line: str) -> None:
    with pytest.raises(listings.MalformedList):
        listings.data_files(f"ok,1,{OTHER},true,1-0\n{line}\n".encode())


_FILES = st.lists(
    st.builds(
        DataFile,
        st.lists(st.text("ab0_-,\"'é ", min_size=1, max_size=6), min_size=1, max_size=3).map(
            "/".join
        ),
        st.integers(0, 1 << 50),
        st.sampled_from([None, SHA, OTHER]),
        st.booleans(),
    ),
    unique_by=lambda file: file.path,
    max_size=5,
)


@given(_FILES)
def test_every_list_that_csv_writes_is_read(files: list[DataFile]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        (file.path, file.size, file.sha256 or "", str(file.here).lower(), "1-0") for file in files
    )
    assert listings.data_files(text.getvalue().encode()) == files


@given(st.binary(max_size=80))
def test_nothing_but_malformed_lists_is_refused(content: bytes) -> None:
    for read in (listings.data_files, listings.summary, listings.sums):
        try:
            read(content)
        except listings.MalformedList:
            continue


def test_the_summary() -> None:
    line = b"2026-11-22 18:10:00,123456,1795371000123456789-1,\n"
    assert listings.summary(line) == listings.Summary(123456, "1795371000123456789-1", "")


@pytest.mark.parametrize(
    "line", [b"", b"a,b\n", b"t,1,now,\n", b"t,x,1-0,\n", b"t,1,1-0,\nt,1,1-0,\n", b"\xff,1,1-0,"]
)
def test_summaries_that_are_none(line: bytes) -> None:
    with pytest.raises(listings.MalformedList):
        listings.summary(line)


def test_our_own_sums() -> None:
    found = {"tae/ckp/b": SHA, "mo_meta": OTHER}
    assert listings.sums(listings.sums_text(found)) == found
    assert listings.sums_text(found) == f"{OTHER}  mo_meta\n{SHA}  tae/ckp/b\n".encode()


@pytest.mark.parametrize("text", ["abc  a\n", f"{SHA} a\n", f"{SHA}  ../a\n", f"{SHA}  \n"])
def test_sums_that_are_none(text: str) -> None:
    with pytest.raises(listings.MalformedList):
        listings.sums(text.encode())
