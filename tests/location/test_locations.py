# SPDX-License-Identifier: Apache-2.0
"""Where a backup is: from a resource, to a task and back, and what is inside of what."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.fields import Fields
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location import locations
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.endpoints import (
    Scope,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.errors import (
    InvalidLocation,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
    S3Location,
)
from hypothesis import given
from hypothesis import strategies as st


def s3(address: str, **given: Any) -> S3Location:
    bucket, _, prefix = address.partition("/")
    defaults = {"endpoint": "http://s3:9000", "region": "us-west-2", "type": "minio"}
    return S3Location(bucket, prefix, **(defaults | given))


def folder(path: str) -> FolderLocation:
    return FolderLocation(path, path)


def read(table: dict[str, Any], role: str = locations.TARGET) -> Location:
    return locations.from_fields(Fields("spec.target", table), role)


def test_a_bucket_of_a_resource() -> None:
    table = {
        "path": "/b/backups/x/",
        "type": "minio",
        "endpoint": "http://s3:9000",
        "region": "eu-central-1",
        "secretRef": {"name": "keys"},
        "certificateRef": {"name": "ca", "files": ["ca.crt"]},
    }
    assert read({"s3": table}) == s3(
        "b/backups/x", region="eu-central-1", credentials="target", certificates=("ca.crt",)
    )
    assert read({"s3": table}, locations.SOURCE).credentials == "source"  # type: ignore[union-attr]


def test_without_a_secret_the_credentials_are_those_of_the_pod() -> None:
    found = read({"s3": {"path": "b/x", "region": "cn-north-1"}})
    assert isinstance(found, S3Location)
    assert found.credentials is None
    assert found.url == "https://s3.cn-north-1.amazonaws.com.cn"
    assert found.type == "aws"


def test_a_folder_of_a_resource() -> None:
    assert read({"fileSystem": {"path": "/backups/x/"}}) == folder("/backups/x")


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({}, "spec.target"),
        ({"s3": {"path": "b"}, "fileSystem": {"path": "/x"}}, "spec.target"),
        ({"s3": {"path": "/"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/../x"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/x//y"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/a:b"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/a b"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/a,b"}}, "spec.target.s3.path"),
        ({"s3": {"path": "b/x", "type": "gcs"}}, "spec.target.s3.type"),
        ({"fileSystem": {"path": "x"}}, "spec.target.fileSystem.path"),
        ({"fileSystem": {"path": "/"}}, "spec.target.fileSystem.path"),
        ({"fileSystem": {"path": "/a/../b"}}, "spec.target.fileSystem.path"),
        ({"fileSystem": {"path": "/a/{{ b }}"}}, "spec.target.fileSystem.path"),
    ],
)
def test_refused(table: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSpec) as refusal:
        read(table)
    assert refusal.value.field_path == field


_NAMES = st.text("abz09-_.!*'()@é", min_size=1, max_size=8).filter(lambda n: n not in (".", ".."))
_PREFIXES = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)
_S3 = st.builds(
    S3Location,
    bucket=st.text("abc-", min_size=3, max_size=8),
    prefix=_PREFIXES,
    endpoint=st.sampled_from(["http://s3:9000", "s3.us-west-2.amazonaws.com"]),
    region=st.just("us-west-2"),
    type=st.sampled_from(locations.TYPES),
    credentials=st.sampled_from([None, "target", "source"]),
    certificates=st.lists(_NAMES, max_size=2).map(tuple),
)
_FOLDERS = st.builds(
    lambda path, other: FolderLocation(f"/{path}", f"/{other}"), _PREFIXES, _PREFIXES
)
_LOCATIONS = st.one_of(_S3, _FOLDERS)


@given(_LOCATIONS)
def test_a_task_keeps_a_location(location: Location) -> None:
    assert locations.from_document(locations.to_document(location)) == location


def test_no_location() -> None:
    assert locations.from_document(locations.to_document(None)) is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"s3": {}},
        {"s3": {"bucket": "b", "prefix": "x", "endpoint": "e"}},
        {"s3": {"bucket": "b/c", "prefix": "x", "endpoint": "e", "region": "r"}},
        {"s3": {"bucket": "b", "prefix": "../x", "endpoint": "e", "region": "r"}},
        {"s3": {"bucket": "b", "endpoint": "e", "region": "r", "type": "x"}},
        {"s3": {"bucket": "b", "endpoint": "e", "region": "r", "credentials": "/etc/passwd"}},
        {"fileSystem": {"path": "x"}},
        {"fileSystem": {"path": "/x", "serverPath": "/../y"}},
        {"s3": {}, "fileSystem": {}},
    ],
)
def test_documents_that_are_no_location(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidLocation):
        locations.from_document(document)


@pytest.mark.parametrize(
    ("one", "other", "overlapping"),
    [
        (s3("b/x"), s3("b/x"), True),
        (s3("b/x"), s3("b/x/y"), True),
        (s3("b"), s3("b/x/y"), True),
        (s3("b/x"), s3("b/xy"), False),
        (s3("b/x"), s3("c/x"), False),
        (s3("b/x"), s3("b/x", endpoint="http://other:9000"), False),
        (s3("b/x", endpoint="http://s3"), s3("b/x", endpoint="http://s3:80"), True),
        (s3("b/x", endpoint="s3"), s3("b/x", endpoint="https://S3:443"), True),
        (folder("/a"), folder("/a/b"), True),
        (folder("/a"), folder("/ab"), False),
        (folder("/b/x"), s3("b/x"), False),
    ],
)
def test_overlap(one: Location, other: Location, overlapping: bool) -> None:
    assert locations.overlap(one, other) is overlapping
    assert locations.overlap(other, one) is overlapping


@given(_LOCATIONS, _NAMES)
def test_what_is_below_overlaps(location: Location, name: str) -> None:
    assert locations.overlap(location, location.below(name))
    assert location.below(name).address == f"{location.address}/{name}"


@given(_LOCATIONS)
def test_an_address_leads_back(location: Location) -> None:
    assert location.at(location.address).address == location.address


@pytest.mark.parametrize(
    ("path", "namespace", "other_path", "other_namespace", "overlapping"),
    [
        ("b/x", "prod", "b/x", "test", False),
        ("b/x", "prod", "b/x", "prod", True),
        ("b/x", "", "b/x", "", True),
    ],
)
def test_a_short_name_is_of_a_namespace(
    path: str, namespace: str, other_path: str, other_namespace: str, overlapping: bool
) -> None:
    first = s3(path, scope=Scope(namespace))
    second = s3(other_path, scope=Scope(other_namespace))
    assert locations.overlap(first, second) is overlapping
    assert locations.overlap(second, first) is overlapping


@given(_LOCATIONS, _LOCATIONS, _LOCATIONS)
def test_overlap_is_symmetric_and_closed_below(
    first: Location, second: Location, third: Location
) -> None:
    assert locations.overlap(first, second) is locations.overlap(second, first)
    deeper = second.below("deeper")
    if locations.overlap(first, second) and len(first.address) <= len(second.address):
        assert locations.overlap(first, deeper)
    if locations.overlap(first, deeper) and locations.overlap(third, deeper):
        related = locations.overlap(first, third)
        assert related  # both are above or below one place


@given(
    st.dictionaries(
        st.sampled_from(["path", "endpoint", "region", "type", "secretRef", "certificateRef"]),
        st.one_of(st.none(), st.text(max_size=12), st.integers(), st.lists(st.text(), max_size=2)),
    ),
    st.booleans(),
)
def test_any_table_is_a_location_or_a_mistake_with_a_field(
    table: dict[str, Any], in_use: bool
) -> None:
    field, place = "spec.target.s3", None
    try:
        place = locations.from_fields(
            Fields("spec.target", {"s3": table}), locations.TARGET, Scope("a"), in_use=in_use
        )
    except InvalidSpec as error:
        field = error.field_path
    assert field.startswith("spec.target.s3")
    assert locations.from_document(locations.to_document(place)) == place


def test_what_cannot_be_read_may_overlap() -> None:
    own = s3("data/mo", scope=Scope("prod"))
    for table, may in [
        ({"s3": {"path": "data/x", "endpoint": "http://s3:abc"}}, True),
        ({"s3": {"path": "s3://data/x", "endpoint": "http://s3:9000"}}, True),
        ({"s3": {"path": "other/x", "endpoint": "http://s3:abc"}}, False),
        ({"s3": {"path": "data/x", "endpoint": "http://s3.prod:9000"}}, False),
        ({"s3": {"path": "data/mo", "endpoint": "http://s3.prod:9000"}}, True),
        ({"s3": "data"}, True),
        ({}, True),
        ({"fileSystem": {"path": "/x"}}, False),
    ]:
        fields = Fields("spec", table)
        assert locations.may_overlap(own, fields, Scope("prod")) is may, table
