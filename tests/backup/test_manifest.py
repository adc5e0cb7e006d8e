# SPDX-License-Identifier: Apache-2.0
"""The record of a backup."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import manifest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.errors import (
    InvalidManifest,
)
from hypothesis import given
from hypothesis import strategies as st

FULL: dict[str, Any] = {
    "formatVersion": 1,
    "id": "b1",
    "type": "full",
    "timestamp": "1795371000000000000-1",
    "source": {"kind": "MatrixOneCluster", "namespace": "ns", "name": "mo"},
    "startedAt": "2026-11-22T18:10:00Z",
    "completedAt": "2026-11-22T18:11:00Z",
    "size": 4096,
    "files": 3,
    "matrixoneVersion": "8.0.30-MatrixOne-v1.3.0",
}
INCREMENTAL = FULL | {"id": "b2", "type": "incremental", "base": {"path": "b/x/1", "id": "b1"}}


@pytest.mark.parametrize("document", [FULL, INCREMENTAL])
def test_the_record_is_one_line_and_leads_back(document: dict[str, Any]) -> None:
    read = manifest.from_document(document)
    text = manifest.to_json(read)
    assert "\n" not in text
    assert json.loads(text) == document
    assert manifest.from_json(text) == read


def test_fields_of_later_releases_are_ignored() -> None:
    assert manifest.from_document(FULL | {"new": 1}) == manifest.from_document(FULL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"formatVersion": 2}, "format 2"),
        ({"formatVersion": None}, "format None"),
        ({"id": ""}, "id: must be set"),
        ({"type": "half"}, "type: must be one of"),
        ({"timestamp": ""}, "timestamp: must be set"),
        ({"type": "incremental"}, "base: must be set"),
        ({"base": {"path": "b/x", "id": "b1"}}, "base: must be set"),
        ({"size": -1}, "size: must be at least 0"),
        ({"startedAt": "yesterday"}, "Invalid isoformat"),
        ({"source": "mo"}, "source: must be an object"),
    ],
)
def test_malformed(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidManifest, match=message):
        manifest.from_document(FULL | change)


@given(st.one_of(st.binary(max_size=40), st.text(max_size=40)))
def test_anything_else_is_refused(text: bytes | str) -> None:
    with pytest.raises(InvalidManifest):
        manifest.from_json(text)
