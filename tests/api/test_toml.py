# SPDX-License-Identifier: Apache-2.0
"""TOML: written the same way every time, merged by fixed laws, read with helpful errors."""

import copy
import datetime
import tomllib
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors, toml
from hypothesis import given
from hypothesis import strategies as st

KEYS = st.text(max_size=8)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(min_value=-(2**63), max_value=2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=12),
    st.dates(),
    st.datetimes(),
    st.times(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=5)


@given(TABLES)
def test_what_is_written_reads_back(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml.dump(table)) == table


@given(TABLES)
def test_order_of_insertion_does_not_show(table: dict[str, Any]) -> None:
    backwards = dict(reversed(list(table.items())))
    assert toml.dump(backwards) == toml.dump(table)


@given(TABLES, TABLES)
def test_merging_changes_neither_side(base: dict[str, Any], override: dict[str, Any]) -> None:
    before = copy.deepcopy((base, override))
    merged = toml.merge(base, override)
    merged["added"] = 1
    for value in merged.values():
        if isinstance(value, (dict, list)):
            value.clear()
    assert (base, override) == before


@given(TABLES, TABLES)
def test_override_wins_and_nothing_is_lost(base: dict[str, Any], override: dict[str, Any]) -> None:
    merged = toml.merge(base, override)
    assert merged.keys() == base.keys() | override.keys()
    assert toml.merge(merged, override) == merged
    for key, value in override.items():
        if not isinstance(value, (dict, list)):
            assert merged[key] == value
    for key in base.keys() - override.keys():
        assert merged[key] == base[key]


@given(TABLES)
def test_merging_with_nothing_is_neutral(table: dict[str, Any]) -> None:
    assert toml.merge(table, {}) == toml.merge({}, table) == toml.merge(table, table) == table


def test_form_is_fixed() -> None:
    table = {
        "b": {"x": 1, "inner": {"y": [1, 2.0]}, "Upper": {"z": True}},
        "a": "text",
        "Z": 1.0,
        "list": [{"name": "one", "sub": {"k": []}}, {"name": "two"}],
        "strange key": 'a"b\\c\n\x01',
        "empty": {},
    }
    assert toml.dump(table) == (
        "Z = 1.0\n"
        'a = "text"\n'
        '"strange key" = "a\\"b\\\\c\\n\\u0001"\n'
        "\n[b]\nx = 1\n\n[b.Upper]\nz = true\n\n[b.inner]\ny = [1, 2.0]\n"
        "\n[empty]\n"
        '\n[[list]]\nname = "one"\n\n[list.sub]\nk = []\n\n[[list]]\nname = "two"\n'
    )


@pytest.mark.parametrize("value", [None, {1, 2}, [None], 2**64, -(2**63) - 1])
def test_what_has_no_form_in_toml_is_refused_with_its_key(value: Any) -> None:
    with pytest.raises(errors.TomlError, match=r"^a\.b: "):
        toml.dump({"a": {"b": value}})


def test_unsigned_64_bits_fit() -> None:
    assert toml.dump({"a": 2**64 - 1}) == "a = 18446744073709551615\n"


def test_date_and_time_are_written_as_such() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert toml.dump({"a": moment}) == "a = 2026-01-02T03:04:05+00:00\n"


def test_syntax_error_names_field_line_and_column() -> None:
    with pytest.raises(errors.InvalidSpec) as caught:
        toml.parse("[log]\nlevel = 1 info\n", "spec.config")
    assert caught.value.field_path == "spec.config"
    assert "line 2, column 11" in str(caught.value)


def test_duplicate_key_is_an_error_of_the_user() -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.config: is not valid TOML"):
        toml.parse("a = 1\na = 2\n", "spec.config")


def test_config_may_be_an_object_or_absent() -> None:
    source = {"log": {"level": "info"}}
    found = toml.parse(source, "spec.config")
    assert found == source
    found["log"]["level"] = "debug"
    assert source == {"log": {"level": "info"}}
    assert toml.parse(None, "spec.config") == {}
    with pytest.raises(errors.InvalidSpec, match="must be TOML as text"):
        toml.parse(["a = 1"], "spec.config")


def test_path_operations() -> None:
    table: dict[str, Any] = {"a": {"b": 1, "c": 2}, "s": 5}
    assert toml.get(table, ("a", "b")) == 1
    assert toml.get(table, ("a", "x")) is None
    assert toml.get(table, ("s", "x")) is None
    toml.put(table, ("a", "d", "e"), 3)
    toml.put(table, ("s", "t"), 4)
    assert table == {"a": {"b": 1, "c": 2, "d": {"e": 3}}, "s": {"t": 4}}
    toml.delete(table, ("a", "c"))
    toml.delete(table, ("nowhere", "c"))
    toml.delete(table, ("a", "nothing"))
    assert table == {"a": {"b": 1, "d": {"e": 3}}, "s": {"t": 4}}


S3_ENTRY = {"name": "S3", "backend": "S3", "s3": {"bucket": "b"}}


@pytest.mark.parametrize(
    ("base", "override", "expected"),
    [
        pytest.param(
            {"fileservice": [{"name": "S3", "s3": {"parallel-mode": 1, "bucket": "mine"}}]},
            {"fileservice": [S3_ENTRY]},
            {"fileservice": [{**S3_ENTRY, "s3": {"bucket": "b", "parallel-mode": 1}}]},
            id="a user's key beside the operator's stays",
        ),
        pytest.param(
            {"log": {"level": "info"}},
            {"fileservice": [S3_ENTRY]},
            {"log": {"level": "info"}, "fileservice": [S3_ENTRY]},
            id="no fileservice of the user's",
        ),
        pytest.param(
            {"fileservice": [{"name": "MINE"}, {"name": "S3", "x": 1}]},
            {"fileservice": [{"name": "LOCAL"}, S3_ENTRY]},
            {"fileservice": [{"name": "LOCAL"}, {**S3_ENTRY, "x": 1}, {"name": "MINE"}]},
            id="the operator's entries first, then the user's own",
        ),
        pytest.param(
            {"a": {"b": {"c": 1, "d": 2}}},
            {"a": {"b": {"c": 3}}},
            {"a": {"b": {"c": 3, "d": 2}}},
            id="nested tables",
        ),
        pytest.param({"a": 1, "b": 2}, {"a": 3}, {"a": 3, "b": 2}, id="the operator wins"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="other lists are replaced"),
        pytest.param({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}, id="a table over a scalar"),
        pytest.param(
            {"fileservice": [{"name": "S3", "cache": {"rpc": True, "memory-capacity": "9"}}]},
            {"fileservice": [{"name": "S3", "cache": {"memory-capacity": "1B"}}]},
            {"fileservice": [{"name": "S3", "cache": {"rpc": True, "memory-capacity": "1B"}}]},
            id="a user's cache key stays too",
        ),
    ],
)
def test_deep_merge(base: Any, override: Any, expected: Any) -> None:
    assert toml.merge(base, override) == expected


def test_nothing_as_base_gives_the_override() -> None:
    assert toml.merge(None, {"a": 1}) == {"a": 1}
