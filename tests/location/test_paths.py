# SPDX-License-Identifier: Apache-2.0
"""Paths of buckets and folders: their grammar, and how stored ones are read."""

import posixpath

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location import paths
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.errors import (
    InvalidLocation,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.paths import (
    BucketPath,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("text", ["data", "data/mo", "/data/mo/", "a.b_c-d/x@y/(1)!'*", "d/é/日本"])
def test_paths_of_buckets(text: str) -> None:
    assert str(BucketPath.parse(text)) == text.strip("/")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("s3://data/mo", "write 'data/mo'"),
        ("s3:/data/mo", "write 'data/mo'"),
        ("S3://data//mo/", "write 'data/mo'"),
        ("s3://", "without s3://"),
        ("http://minio:9000/data", "the server goes into endpoint"),
        ("team//mo", "write 'team/mo'"),
        ("team/./mo", "write 'team/mo'"),
        ("//data/mo", "<bucket>/<prefix>"),
        ("data/mo//", "write 'data/mo'"),
        ("data/../mo", "'..'"),
        ("data/mo ", "MatrixOne refuses"),
        (" data/mo", "with a bucket of letters"),
        ("data/m o", "has ' '"),
        ("data/a=b", "has '='"),
        ("data/\x00", "MatrixOne refuses"),
        ("data/\N{NO-BREAK SPACE}", "MatrixOne refuses"),
        ("..", "with a bucket of letters"),
        (".", "with a bucket of letters"),
        ("{{ bucket }}/x", "with a bucket of letters"),
        ("", "<bucket>/<prefix>"),
        ("d/" + "x" * 1024, "longer than 1024"),
    ],
)
def test_refused_paths_of_buckets(text: str, says: str) -> None:
    with pytest.raises(InvalidLocation) as refusal:
        BucketPath.parse(text)
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("team//mo", "team/mo"),
        ("data/a/../b", "data/b"),
        ("data/./mo//", "data/mo"),
        ("data/a=b", "data/a=b"),
        ("data", "data"),
    ],
)
def test_what_is_stored_is_read_as_matrixone_reads_it(text: str, read: str) -> None:
    assert str(BucketPath.read(text)) == read


@pytest.mark.parametrize("text", ["s3://data/mo", "data/../../x", "", "/", "..", " data"])
def test_what_is_stored_and_cannot_work(text: str) -> None:
    with pytest.raises(InvalidLocation):
        BucketPath.read(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "absolute path"),
        ("data", "absolute path"),
        ("/", "absolute path"),
        ("//", "absolute path"),
        ("/a/../b", "write '/b'"),
        ("/a//b", "write '/a/b'"),
        ("//a", "write '/a'"),
        ("/..", "'..'"),
        ("/a b", "has ' '"),
    ],
)
def test_refused_folders(text: str, says: str) -> None:
    with pytest.raises(InvalidLocation) as refusal:
        paths.parse_folder(text)
    assert says in str(refusal.value)


_PIECES = st.sampled_from(["/", "//", ".", "..", "a", "b-c", "s3:", "é", " ", "\x00", "=", "\n"])
_TEXTS = st.one_of(st.text(max_size=30), st.lists(_PIECES, max_size=10).map("".join))


@given(_TEXTS)
def test_any_text_is_a_path_or_a_mistake(text: str) -> None:
    try:
        path = BucketPath.parse(text)
    except InvalidLocation:
        return
    assert BucketPath.parse(str(path)) == path
    assert BucketPath.read(text) == path
    assert path.prefix == paths.parse_prefix(path.prefix)


@given(_TEXTS)
def test_any_stored_text_is_read_once(text: str) -> None:
    try:
        path = BucketPath.read(text)
    except InvalidLocation:
        return
    assert BucketPath.read(str(path)) == path
    assert not {"", ".", ".."} & set(path.segments)


@given(_TEXTS)
def test_any_text_is_a_folder_or_a_mistake(text: str) -> None:
    try:
        folder = paths.parse_folder(text)
    except InvalidLocation:
        return
    assert paths.parse_folder(folder) == folder == posixpath.normpath(folder)
